"""Typed clients of the API in Python and TypeScript, generated from its OpenAPI document."""
