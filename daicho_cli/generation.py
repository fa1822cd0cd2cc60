"""``daicho generation``: a new generation for every entity whose declarations changed."""

from __future__ import annotations

from typing import Annotated

import typer

from daicho.plan import LOCK_FILE, Ledger
from daicho.plan.lockfile import write_lock_file
from daicho.web import routes
from daicho_cli.project import discover_project, load_ledger


def generation(
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether one is needed: exit code 1.")
    ] = False,
    unreleased: Annotated[
        bool,
        typer.Option(
            "--unreleased",
            help="Forget all generations and begin at 1: nothing is deployed yet.",
        ),
    ] = False,
) -> None:
    """Append what changed to functions/generations.json, the lock file of all declarations."""
    before = Ledger() if unreleased else load_ledger()
    daicho = discover_project()
    routes.build_operations(
        daicho
    )  # a route that cannot be mounted fails here, not in a deployed function
    after = daicho.append_generations(before)
    changed = [
        f"{name} {generations[-1].number}"
        for name, generations in after.entities.items()
        if generations != before.entities.get(name)
    ]
    if check:
        if changed:
            typer.echo(f"a new generation is needed: {', '.join(changed)}", err=True)
            raise typer.Exit(1)
    elif changed or unreleased:
        write_lock_file(after, LOCK_FILE)
    typer.echo(f"generations: {', '.join(changed)}" if changed else "no declaration changed")
