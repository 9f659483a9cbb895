"""What a recipient could learn from what it was given so far: bounds, simulated attacks, leak reports."""
