"""The deletion of a tenant: its states, its job, and everything that the job removes."""
