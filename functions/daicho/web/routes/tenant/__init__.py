"""The routes of a whole tenant, for its administrator: deletion, jobs, archive."""
