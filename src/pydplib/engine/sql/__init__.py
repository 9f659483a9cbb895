"""A plan as SQL: one text for all databases, and the words in which they differ."""
