"""The audit log: who did what and when; append-only by database trigger, chained by hashes."""
