"""Rules that the items of an entity follow."""
