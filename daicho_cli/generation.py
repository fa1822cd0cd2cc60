"""``daicho generation``: a new generation for every entity whose declarations changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from daicho.plan import Decisions, Ledger
from daicho.plan.changes import InstanceChange, compare_ledgers
from daicho.plan.lockfile import write_lock_file
from daicho.web.routes.builder import build_operations
from daicho_cli.project import discover_project, find_project, load_ledger
from daicho_cli.terminal import end_command


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
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Accept changes that make data invisible."),
    ] = False,
    recount: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENTITY.AGGREGATE", help="Count an unchanged aggregate again, from all items."
        ),
    ] = None,
    revert: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENTITY",
            help="Undo the newest generation of an entity: its declarations equal an earlier one.",
        ),
    ] = None,
    supersede: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENTITY.DECLARATION",
            help="Give up the newest instance, which is not complete everywhere.",
        ),
    ] = None,
    disable: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ENTITY.DECLARATION",
            help="End the instance that retires: its successor is complete in every stage.",
        ),
    ] = None,
) -> None:
    """Append changed declarations to the lock file of generations, and print the effects.

    What retires is derived until it is disabled. A change after which a route does not answer until
    existing items are included, or at all, needs --accept.
    """
    project = find_project()
    before = Ledger() if unreleased else load_ledger()
    daicho = discover_project()
    build_operations(daicho)  # a route that cannot be mounted fails here, not deployed
    decisions = Decisions(
        recounted=frozenset(recount or ()),
        superseded=frozenset(supersede or ()),
        reverted=frozenset(revert or ()),
        disabled=frozenset(disable or ()),
    )
    after = daicho.append_generations(before, decisions)
    changed = _list_changed(before, after)
    changes = compare_ledgers(before, after)
    if check:
        if changed:
            end_command(f"a new generation is needed: {', '.join(changed)}", 1)
        if not _has_fields(before, after):
            end_command("the fields in the lock file are not up to date: daicho generation", 1)
    else:
        for change in changes:
            typer.echo(change.sentence)
        _check_accepted(changes, accept=accept)
        if after != before or unreleased:
            write_lock_file(replace(after, project=project.name), project.lock_file)
    for name, number in daicho.check_locked(after).written.items():
        typer.echo(
            f"{name}: these declarations equal generation {number} of "
            f"{after.newest_generation(name).number}, like code that was rolled back. To undo what "
            f"followed: daicho generation --revert {name}"
        )
    typer.echo(f"generations: {', '.join(changed)}" if changed else "no declaration changed")


def _list_changed(before: Ledger, after: Ledger) -> list[str]:
    """The entities with a new generation, each with its number."""
    return [
        f"{name} {generations[-1].number}"
        for name, generations in after.entities.items()
        if generations != before.entities.get(name)
    ]


def _has_fields(before: Ledger, after: Ledger) -> bool:
    """Whether a lock file has the declared fields. That of an older version has no literals."""
    written, declared = before.to_json(), after.to_json()
    return written.get("fields") == declared.get("fields") and (
        "literals" not in written or written["literals"] == declared["literals"]
    )


def _check_accepted(changes: Sequence[InstanceChange], *, accept: bool) -> None:
    """End the command if data would become invisible that nobody accepted."""
    hidden = [change for change in changes if change.effect.hides_data]
    if hidden and not accept:
        end_command(
            f"{len(hidden)} of these changes make data invisible, until it is built again or for "
            "good. If that is intended, add --accept. Nothing was written.",
            1,
        )
