"""Further tables of a project and its computed columns."""
