"""Products over a table in memory, and all declarations under faults."""
