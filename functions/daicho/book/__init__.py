"""The facade of the library: everything that one tenant's callers may ask for."""
