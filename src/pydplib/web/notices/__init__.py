"""Notices that something waits: by mail and webhook, without content, off unless the operator sets them up."""
