"""``daicho load``: load the rows of a file as items of a table."""
