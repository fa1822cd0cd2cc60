"""``daicho contract``: whether the declarations keep the API's contract."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from daicho.errors import DaichoError
from daicho_cli.contract.committed import compare_with_committed
from daicho_cli.contract.report import format_check, render_check
from daicho_cli.project import discover_project, find_project, load_ledger
from daicho_cli.terminal import print_message

ERROR, BREAKING = 1, 2
"""Exit codes."""


def contract(
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|REVISION",
            help="An OpenAPI document, or a git revision.",
            show_default="the last commit",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Compare the API of the declarations with the committed OpenAPI document.

    Exit code 2: a change breaks clients. Each change is printed with the way to keep the contract.
    """
    project = find_project()
    try:
        check = compare_with_committed(discover_project(), load_ledger(), project.root, against)
    except (DaichoError, OSError) as error:
        print_message(f"daicho contract could not run: {error}")
        raise typer.Exit(ERROR) from error
    if as_json:
        typer.echo(json.dumps(render_check(check), indent=2, ensure_ascii=False))
    else:
        typer.echo(format_check(check))
    if check.is_breaking:
        raise typer.Exit(BREAKING)
