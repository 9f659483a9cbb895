"""The labelling queue: free texts, readers, agreement."""
