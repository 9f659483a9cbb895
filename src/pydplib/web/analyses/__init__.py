"""Analyses: questions in plain words, their price before spending, the paid answer, its receipt."""
