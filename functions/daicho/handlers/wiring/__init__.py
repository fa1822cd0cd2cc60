"""The common parts of the handlers: their dependencies, their start, their metrics and faults."""
