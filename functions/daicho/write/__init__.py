"""Writes: from an entity to conditional requests and transactions, with all that goes with it."""
