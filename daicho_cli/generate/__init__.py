"""The commands that write generated files: the OpenAPI description and the tables of the docs."""
