"""``daicho trial``: deploys a stage of its own, measures it, writes a report, and removes it."""
