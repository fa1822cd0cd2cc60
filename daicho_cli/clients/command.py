"""``daicho clients``: typed clients of the API in Python and TypeScript."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from daicho.errors import ProjectError
from daicho.project import Project
from daicho.web import openapi
from daicho_cli.clients import programs
from daicho_cli.clients.document import prepare_document
from daicho_cli.clients.generators import generate_python, generate_typescript
from daicho_cli.clients.programs import install_generator
from daicho_cli.local.instance import PROGRAMS
from daicho_cli.project import discover_project, find_root, load_ledger
from daicho_cli.terminal import CommandError, end_on_errors

PYTHON = Path("clients/python")
TYPESCRIPT = Path("clients/typescript/api.d.ts")
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


def clients(
    python: Annotated[
        Path | None,
        typer.Option(help="The folder of the Python package.", show_default=str(PYTHON)),
    ] = None,
    typescript: Annotated[
        Path | None,
        typer.Option(help="The file of the TypeScript types.", show_default=str(TYPESCRIPT)),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            help="The name of the Python package.", show_default="the project's name and -client"
        ),
    ] = "",
    document: Annotated[
        Path | None,
        typer.Option(help="An OpenAPI document.", show_default="that of the declarations"),
    ] = None,
    programs_folder: Annotated[
        Path | None,
        typer.Option(
            "--programs",
            help="The folder of the generators, which are installed at their first use.",
            show_default=".local of the project",
        ),
    ] = None,
) -> None:
    """Write typed clients of the API in Python and TypeScript.

    With one of --python and --typescript, only that client is written. A warning of a generator is
    an error, and the existing client stays as it is.
    """
    with end_on_errors("daicho clients"):
        name = name or choose_name(Path.cwd())
        if not _NAME.fullmatch(name):
            raise CommandError(f"{name!r} is no name of a package: use one like shop-client")
        if python is None and typescript is None:
            root = Path(os.path.relpath(find_root()))
            python, typescript = root / PYTHON, root / TYPESCRIPT
        described = prepare_document(read_document(document) if document else describe_project())
        installed = programs_folder or find_root() / PROGRAMS
        if python is not None:
            environment = install_generator(installed, programs.PYTHON)
            generate_python(described, python, name, environment)
            typer.echo(f"{python} written")
        if typescript is not None:
            node_folder = install_generator(installed, programs.TYPESCRIPT)
            generate_typescript(described, typescript, node_folder / "node_modules")
            typer.echo(f"{typescript} written")


def choose_name(folder: Path) -> str:
    """``my-shop-client`` in the project MyShop; ``api-client`` in a folder without a project.

    The clients of two projects can be installed beside each other.
    """
    try:
        project = Project.find(folder).name
    except ProjectError:
        project = "api"
    return f"{_WORD_START.sub('-', project).lower()}-client"


def describe_project() -> dict[str, Any]:
    """The OpenAPI document of the project's declarations."""
    return openapi.describe_api(discover_project(), load_ledger())


def read_document(path: Path) -> dict[str, Any]:
    """An OpenAPI document in a file.

    Raises:
        CommandError: the file has no document with operations of Daicho.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
    except ValueError:
        document = None
    if not isinstance(document, dict) or not {"paths", "components"} <= document.keys():
        raise CommandError(f"{path} is no OpenAPI document: save that of /openapi.json")
    return document
