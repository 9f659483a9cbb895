"""Polars: the same rules as the SQL, in expressions of its own."""
