"""Expired items in S3, each exactly once: written, read, verified, restored and forgotten."""
