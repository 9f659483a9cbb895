"""Receipts: the keys that sign them, the ones anybody may ask for, and notebooks that verify them."""
