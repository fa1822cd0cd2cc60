"""Demo data, one file a tenant, and the program that loads it over HTTP."""
