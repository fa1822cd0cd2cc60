"""What the handlers have in common: their dependencies, their start, their metrics and faults."""
