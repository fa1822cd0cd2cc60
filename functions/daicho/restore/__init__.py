"""Restores the items of a live table to an earlier moment, from a copy of the table (rule 59)."""
