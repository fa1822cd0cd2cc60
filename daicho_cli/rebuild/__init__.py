"""``daicho rebuild``: existing items get what changed declarations derive."""
