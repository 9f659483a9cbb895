"""Tables of the attacks."""
