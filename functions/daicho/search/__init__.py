"""Search: what is written for it, and what matches."""
