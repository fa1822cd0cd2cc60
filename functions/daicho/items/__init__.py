"""Conversion between entities and stored data: key components of arguments, and projections."""
