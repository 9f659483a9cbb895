"""The search for the transformation that loses least: the table as a problem, classes, losses, and the methods."""
