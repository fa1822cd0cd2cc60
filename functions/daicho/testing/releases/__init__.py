"""Releases and rebuilds in a schedule: code of several of them runs at once."""
