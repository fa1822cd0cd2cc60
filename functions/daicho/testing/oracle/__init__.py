"""What derived state should be, recomputed from the base items, and where it differs."""
