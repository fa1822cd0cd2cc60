"""The facade of the library: all reads and writes of one tenant's callers."""
