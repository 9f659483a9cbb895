"""Signing in: password, second factor, known browsers, limits on tries, sessions."""
