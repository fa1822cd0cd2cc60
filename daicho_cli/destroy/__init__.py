"""``daicho destroy``: remove a stage that retains no data."""
