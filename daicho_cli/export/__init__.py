"""``daicho export``: the items of an entity to a file of lines."""
