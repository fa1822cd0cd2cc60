"""The contract of an API: two OpenAPI 3.1 documents, compared from the side of a client.

ADR 0118 has the alternatives. The rules are in docs/reference/cli.md, "API changes".
"""
