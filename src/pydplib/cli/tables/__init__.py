"""Commands on tables that are handed over: anonymize, risk, verify, hierarchy, attack."""
