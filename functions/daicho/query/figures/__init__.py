"""Figures of a group from what is stored: of one group, and over a range of time."""
