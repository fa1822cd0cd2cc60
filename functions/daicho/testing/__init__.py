"""Daicho under test, in memory: a table, its stream and its functions, with faults or without."""
