"""Requests for more: submitted, decided by one owner or two, applied."""
