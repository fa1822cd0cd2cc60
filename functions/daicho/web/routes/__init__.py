"""From declarations to operations: which paths a domain gets, and what each of them does."""
