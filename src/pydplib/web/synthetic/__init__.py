"""Synthetic tables on the platform: priced, paid, made in the background, shown, downloaded, withdrawn."""
