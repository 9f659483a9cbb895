"""Reporting: templates of a project, the report form, signing, corrections, labelling."""
