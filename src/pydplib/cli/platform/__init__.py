"""Commands for the operator of a platform: serve, doctor, backup, people, logs and receipts."""
