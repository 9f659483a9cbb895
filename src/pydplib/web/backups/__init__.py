"""One file that holds all of a server: database, keys, snapshots."""
