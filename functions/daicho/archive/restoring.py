"""Restoring: archived items back into the table, as writes like any other."""
