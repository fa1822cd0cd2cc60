"""The API of a project, compared between two versions by its OpenAPI 3.1 documents.

No tool that installs from PyPI or npm and works offline compares documents of OpenAPI 3.1: see
docs/reference/cli.md, "API changes", for the rules.
"""

from daicho_cli.upgrade.api.operations import compare_apis as compare_apis
