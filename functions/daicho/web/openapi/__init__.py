"""The OpenAPI description of all routes, and the examples in it."""
