"""Patients under pseudonyms: who is behind a report, and what names them."""
