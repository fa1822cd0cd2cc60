"""Verification: compares what is stored with what follows from the base items, and repairs it."""
