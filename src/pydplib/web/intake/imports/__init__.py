"""Imports: files matched, tried, taken in and undone."""
