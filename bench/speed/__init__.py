"""Processor time and start-up beside named peers: ``make bench``."""
