"""``daicho smoke``: drives one route of each kind of a deployed stack."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from daicho_cli.options import LOCAL, Region, StackFile, Stage
from daicho_cli.project import discover_project, load_ledger
from daicho_cli.smoke.run import SmokeRun
from daicho_cli.smoke.target import TargetOptions, find_target
from daicho_cli.terminal import INCOMPLETE, SUCCESS, end_on_errors

PATIENCE_S = 150.0
"""A rollup runs each minute, and a first request starts a function."""


def smoke(  # noqa: PLR0913, PLR0917  # the command's options
    stage: Stage = None,
    region: Region = None,
    stack: StackFile = LOCAL,
    outputs: Annotated[
        Path | None, typer.Option(help="A file of cdk deploy --outputs-file, instead of --stage.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="The address of an API: only HTTP is tested. With --token.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="DAICHO_TOKEN", help="A token of a user, instead of a user for this run."
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=1, help="Seconds to wait for derived state.")
    ] = PATIENCE_S,
    check_archive: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Look for the archived item of an earlier run."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """Test a deployed stack: drive one route of each kind.

    The routes are those of the project's declarations, with the examples of the deployment's own
    description. The run has a tenant and a user of its own, which it removes. Exit code 1: a check
    failed.
    """
    with end_on_errors("smoke"), _end_as_interrupted():
        target = find_target(TargetOptions(stack, stage, region, outputs, url, token))
        run = SmokeRun(target, discover_project(), load_ledger(), patience)
        if check_archive is not None:
            run.name = check_archive
            run.check_archive()
        elif token is not None:
            run.drive_with(token)
        else:
            run.drive()
        report = run.build_report()
        if as_json:
            typer.echo(json.dumps(report.to_document(), indent=2, ensure_ascii=False))
        else:
            report.print()
    raise typer.Exit(INCOMPLETE if report.failed else SUCCESS)


@contextmanager
def _end_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C: the user and the tenant are removed."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
