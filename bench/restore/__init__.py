"""Restores of a table: in the simulator, of many items, and on the local stack."""
