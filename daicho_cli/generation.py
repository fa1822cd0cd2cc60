"""``daicho generation``: a new generation for every entity whose declarations changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from daicho.plan import Ledger
from daicho.plan.lockfile import write_lock_file
from daicho.web import routes
from daicho_cli.project import discover_project, find_project, load_ledger


def generation(
    check: Annotated[
        bool, typer.Option("--check", help="Only check; exit code 1 if a new generation is needed.")
    ] = False,
    unreleased: Annotated[
        bool,
        typer.Option(
            "--unreleased",
            help="Discard all generations and start at 1. Only before the first deployment.",
        ),
    ] = False,
) -> None:
    """Append changed declarations to the lock file of generations."""
    project = find_project()
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
        write_lock_file(replace(after, project=project.name), project.lock_file)
    typer.echo(f"generations: {', '.join(changed)}" if changed else "no declaration changed")
