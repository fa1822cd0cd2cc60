"""Benchmarks of the online rebuild: exactness under kills and writers, units, time."""
