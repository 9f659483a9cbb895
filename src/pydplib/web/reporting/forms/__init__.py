"""The report form: answers, drafts, and the pages that a reader fills in."""
