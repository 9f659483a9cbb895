"""The leak report: every attack that applies to a release, and who may get it."""
