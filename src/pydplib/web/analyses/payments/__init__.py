"""Payments: prices, sessions, purchases, and what is left of a budget."""
