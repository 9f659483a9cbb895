"""Attacks on released tables: known people are met with what every row covers."""
