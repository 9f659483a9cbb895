"""Dashboards: sets of figures that the owner curates for an audience, each paid once from a budget of its own."""
