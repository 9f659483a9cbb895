"""People: hospitals, users, one-time links, sign-in with a second factor, sessions."""
