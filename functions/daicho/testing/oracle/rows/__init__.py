"""Rows and amounts of an item, from the documentation alone: no code of the library is shared."""
