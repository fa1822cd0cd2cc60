"""``daicho archive``: what expired is asked, brought back, verified and forgotten."""
