"""The question form: what a member may ask, how precise, what would help, and a trial."""
