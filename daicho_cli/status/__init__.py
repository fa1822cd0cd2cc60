"""``daicho status``: the instances of a stage, and which of them answer."""
