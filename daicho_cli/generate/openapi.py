"""``daicho openapi``: the API's description, as a committed file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.web import openapi as api_description
from daicho_cli.generate.generated_file import Check, write_or_check
from daicho_cli.project import find_root

FILE = find_root() / "docs/reference/openapi.json"


def openapi(
    check: Check = False,
    path: Annotated[
        Path, typer.Option(help="The file to write.", show_default="docs/reference/openapi.json")
    ] = FILE,
) -> None:
    """Write the OpenAPI document of all routes."""
    write_or_check(path, render_openapi, check=check, make="make openapi")


def render_openapi(daicho: Daicho, ledger: Ledger) -> str:
    """The description as JSON."""
    document = api_description.describe_api(daicho, ledger)
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
