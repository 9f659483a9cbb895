"""The project's own rows, for its owners: lists, exact counts, quality."""
