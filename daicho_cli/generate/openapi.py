"""``daicho openapi``: the API's description, as a committed file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from daicho_cli.project import DOCS, discover_project, load_ledger, write_or_check


def openapi(
    check: Annotated[
        bool, typer.Option("--check", help="Only compare with the file: exit code 1.")
    ] = False,
    path: Annotated[
        Path, typer.Option(help="The file to write.", show_default="docs/openapi.json")
    ] = DOCS / "openapi.json",
) -> None:
    """Write the OpenAPI description of all routes."""
    from daicho.web.openapi.document import describe_api as described  # noqa: PLC0415  # half a second

    document = described(discover_project(), load_ledger())
    text = json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    write_or_check(path, text, check=check, make="make openapi")
