"""What a release is made of, and how it is stored, written and put into words."""
