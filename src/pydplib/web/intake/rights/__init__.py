"""Patients' rights: access, consent, erasure, the record of processing."""
