"""Figures and series, compared with DuckDB, and their units."""
