"""Anonymized tables: planned by an owner, checked, released to those whom the policy allows, withdrawn."""
