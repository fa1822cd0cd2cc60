"""Reads: items by key, pages of collections, listings and searches, versions, sections, totals."""
