"""``daicho archive``: what expired is asked, brought back, verified, forgotten; a file a command."""
