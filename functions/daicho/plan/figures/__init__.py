"""Figures of an aggregate as plain data: what is measured, and how a series is stored."""
