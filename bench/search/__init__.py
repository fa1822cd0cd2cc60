"""The search over many contacts, compared with seed 001's algorithm: costs of pages and writes."""
