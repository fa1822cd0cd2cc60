"""Processes that advance operation by operation, and the faults that they meet."""
