"""The archive measured: what a query reads, how many objects a day, what a million rows cost."""
