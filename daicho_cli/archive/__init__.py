"""``daicho archive``: queries, restores, verifies and erases archived items."""
