"""Ready-made figures of the catalogue: from a table of reports by the paper's method, or from sound releases."""
