"""Tables of synthetic tables."""
