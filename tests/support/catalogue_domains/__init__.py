"""A project of one domain, with values of every kind at every depth."""
