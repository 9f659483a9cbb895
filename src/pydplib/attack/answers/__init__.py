"""Attacks on answers to questions and on noisy records: targets, and what can be learnt from them."""
