"""Tables of counts bought together: one price, one noise, and estimates that agree with each other."""
