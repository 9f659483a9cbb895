"""Tables as the searches and measures see them: codes, values, views and relations of DuckDB."""
