"""What an item derives as rows, from the documentation alone: no code of the library is shared."""
