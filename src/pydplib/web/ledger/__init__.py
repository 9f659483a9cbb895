"""The ledger in the platform's database: the rules are ``pydplib.budget``'s, only the rows are here."""
