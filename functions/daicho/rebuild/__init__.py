"""Rebuild: stored items get the newest generation, and then new instances are complete."""
