"""A project whose entities have unique values."""
