"""The common parts of the handlers: their dependencies, their start, and their metrics."""
