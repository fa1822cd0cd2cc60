"""Domains whose entities have rules: computed fields, checks, transitions, and decimals."""
