"""Measurements of the archive: reads of a query, objects a day, cost of a million rows."""
