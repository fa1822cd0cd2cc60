"""``daicho smoke``: drives a deployed stack, and compares its settings with its template."""
