"""The data flow policy of a project: its rules, the fields they open, and what a role gets by them."""
