"""Commands that answer questions with noise, and those about schemas, roles and the ledger that they need."""
