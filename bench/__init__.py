"""Measurements: capacity units, requests, and growth with size, each against a named peer."""
