"""Further tables about a project's patients, columns that are computed, tables that are asked together."""
