"""Tables of the exports."""
