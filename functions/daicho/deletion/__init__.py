"""The deletion of a tenant: everything of it goes, and nothing brings any of it back."""
