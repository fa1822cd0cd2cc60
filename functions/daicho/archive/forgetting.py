"""Forgetting a tenant: its rows out of the archive's objects, for good."""
