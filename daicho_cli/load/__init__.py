"""``daicho load``: rows of a file to items of a table."""
