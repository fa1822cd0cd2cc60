"""Processor time, start-up and throughput beside named peers: ``make bench``."""
