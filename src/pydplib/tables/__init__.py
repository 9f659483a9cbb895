"""One reader for tables in files: the same file means the same wherever it is opened.

``lines`` makes every line sound, ``cells`` says what a cell means, ``sheets`` and ``ndjson`` write Excel and JSON as
lines, and ``files`` opens tables with typed columns. Loading, noise, anonymization, attacks, schemas and imports all go
through here.
"""

from pydplib.tables.files import CsvOptions, TableFile, Tables, Texts, open_relation, open_tables, open_texts

__all__ = ["CsvOptions", "TableFile", "Tables", "Texts", "open_relation", "open_tables", "open_texts"]
