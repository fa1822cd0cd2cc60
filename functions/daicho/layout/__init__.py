"""The single-table schema: the keys and the contents of every kind of item."""
