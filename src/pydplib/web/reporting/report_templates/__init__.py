"""Templates of a project: their versions, the decision tree, example answers."""
