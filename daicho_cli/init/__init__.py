"""``daicho init``: a new project."""
