"""The options that several commands share, and checks of their values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daicho.declare.entity import Entity
from daicho.runtime.token_claims import TENANT
from daicho_cli.aws import STACK_FILE
from daicho_cli.project import discover_project
from daicho_cli.terminal import OptionError

LOCAL = STACK_FILE
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Stage = Annotated[
    str | None, typer.Option(help="A deployed stage, dev or prod. Default: the local stack.")
]
StackFile = Annotated[
    Path,
    typer.Option(
        "--stack", help="The file that describes the local stack.", show_default=".local/stack.json"
    ),
]
TableName = Annotated[
    str | None, typer.Option("--table", help="The table. Default: the table of the local stack.")
]
TableOfStage = Annotated[
    str | None, typer.Option("--table", help="The table of a stage, instead of --stage.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Scan = Annotated[
    bool, typer.Option("--scan", help="Read the whole table instead of a sample, at a price.")
]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Watch it to its end; Ctrl+C only stops this.")
]
Endpoint = Annotated[
    str | None, typer.Option("--endpoint", help="The address of a DynamoDB outside AWS.")
]
Region = Annotated[
    str | None, typer.Option("--region", help="The Region. Default: that of the environment.")
]


def check_tenant(tenant: str | None) -> None:
    """Check the value of ``--tenant``.

    Raises:
        OptionError: it is no name of a tenant.
    """
    if tenant is not None and not TENANT.fullmatch(tenant):
        raise OptionError(f"--tenant {tenant!r}: a-z, 0-9 and -, at most 63 characters")


def find_entity(name: str) -> type[Entity]:
    """The declared entity with this name.

    Raises:
        OptionError: it does not exist.
    """
    daicho = discover_project()
    try:
        return daicho.get_entity(name)
    except KeyError:
        choices = ", ".join(sorted(entity.__name__ for entity in daicho.entities))
        raise OptionError(f"no entity is called {name}; there are {choices}") from None
