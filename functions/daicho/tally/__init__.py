"""Aggregates: slots, totals, the marks of what changed, the rollup, and the fast counters."""
