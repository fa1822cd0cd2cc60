"""Applies, exactly once, what was quarantined or ended in the on-failure bucket."""
