"""The single-table schema: the keys of every kind of item, and what such an item holds."""
