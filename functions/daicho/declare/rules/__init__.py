"""Rules that the items of an entity keep with every write: what is computed, checked, allowed."""
