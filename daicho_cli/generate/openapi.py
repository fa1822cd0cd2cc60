"""``daicho openapi``: the API's description, as a committed file that is written or compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho_cli.project import discover_project, find_root, load_ledger
from daicho_cli.terminal import end_command

Check = Annotated[
    bool, typer.Option("--check", help="Only compare with the file; exit code 1 if they differ.")
]
Render = Callable[[Daicho, Ledger], str]


def write_or_check(path: Path, render: Render, *, check: bool, make: str) -> None:
    """Write the file that ``render`` makes of the declarations and their generations.

    With ``check`` nothing is written; the command ends with exit code 1 if the file is out of date,
    and names the target of ``make`` that writes it.
    """
    text = render(discover_project(), load_ledger())
    root = find_root()
    name = path.relative_to(root) if path.is_relative_to(root) else path
    current = path.read_text(encoding="utf-8") if path.exists() else None
    if current == text:
        typer.echo(f"{name} is up to date")
    elif check:
        end_command(f"{name} differs from the declarations; run {make}", 1)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        typer.echo(f"{name} written")


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
    from daicho.web.openapi.document import describe_api  # noqa: PLC0415  # Powertools: ADR 0158

    document = describe_api(daicho, ledger)
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
