"""Intake: patients and their identifiers, imports, data versions and snapshots, quality, erasure, consent."""
