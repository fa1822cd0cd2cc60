"""Search at size, beside seed 001's own algorithm: what a page costs, and what a contact does."""
