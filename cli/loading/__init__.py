"""Bulk loading: rows of a file to items of a table."""
