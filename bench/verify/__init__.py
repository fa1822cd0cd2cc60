"""Benchmarks of verification and repair: what is found, what it reads, its time and memory."""
