"""Members of a project: added, invited, changed, removed."""
