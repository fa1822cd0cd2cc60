"""Processor time of this checkout beside that of an older commit, in one run."""
