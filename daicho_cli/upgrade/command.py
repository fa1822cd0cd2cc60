"""``daicho upgrade``: what a newer version changes for this project, and the upgrade to it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from packaging.version import Version

from daicho.errors import DaichoError
from daicho.project import Project
from daicho.runtime.version import VERSION
from daicho_cli.local.instance import PROGRAMS
from daicho_cli.severity import Severity
from daicho_cli.upgrade import uv
from daicho_cli.upgrade.change import find_worst
from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.pin import find_pin, rewrite_pin
from daicho_cli.upgrade.report import format_comparison, summarise
from daicho_cli.upgrade.target import choose_target
from daicho_cli.upgrade.trial import CONFIGURATION, Comparison, try_version


def upgrade(
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Only print the changes; exit code 1 if one of them is breaking."
        ),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="A version, or a series. Default: the newest version."
        ),
    ] = None,
    accept_breaking: Annotated[
        bool,
        typer.Option(
            "--accept-breaking", help="Upgrade despite breaking changes; never if data is lost."
        ),
    ] = False,
    stage: Annotated[
        list[str] | None,
        typer.Option(help="A stage whose templates are compared; repeatable. Default: dev."),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", "-c", help="Context of the CDK app, NAME=VALUE; repeatable."),
    ] = None,
) -> None:
    """Upgrade the project to a newer version of Daicho, or print what it changes."""
    try:
        project = Project.find(Path.cwd())
        target = find_target(project.root, to)
        if target is None:
            typer.echo(f"{project.name} has the newest version of daicho, {VERSION}")
            return
        comparison = try_version(
            project,
            target,
            stages=stage or ["dev"],
            context=context or [],
            programs=project.root / PROGRAMS,
            report=partial(typer.echo, err=True),
        )
        typer.echo(format_comparison(comparison, project.name))
        typer.echo(summarise(comparison))
        if not is_accepted(comparison, accept_breaking=accept_breaking):
            raise typer.Exit(1)
        if not check:
            typer.echo(make_upgrade(project, comparison))
    except DaichoError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


def find_target(root: Path, wanted: str | None) -> Version | None:
    """The version to upgrade the project in ``root`` to; None if it has it already.

    Raises:
        UpgradeError: nothing is pinned, another version is installed, or see `choose_target`.
    """
    pinned = find_pin((root / CONFIGURATION).read_text(encoding="utf-8")).version
    if pinned != Version(VERSION):
        raise UpgradeError(
            f"pyproject.toml pins daicho {pinned}, and {VERSION} is installed: install what the "
            "project requires (uv sync, or make), and try again"
        )
    return choose_target(pinned, wanted, partial(uv.find_newest, folder=root))


def is_accepted(comparison: Comparison, *, accept_breaking: bool) -> bool:
    """Whether the upgrade may be made."""
    worst = find_worst(comparison.changes)
    return worst is not Severity.DATA_LOSS and (accept_breaking or worst is not Severity.BREAKING)


def make_upgrade(project: Project, comparison: Comparison) -> str:
    """Change the project's files, and install the version; gives what was done and what is next.

    The lock file is the one that the new version wrote when it was tried.

    Raises:
        UpgradeError: uv could not install it; the files are changed already.
    """
    steps = [f"pyproject.toml pins daicho {comparison.target}"]
    lock = project.lock_file.read_bytes() if project.lock_file.exists() else b""
    if lock != comparison.lock_file:
        project.lock_file.write_bytes(comparison.lock_file)
        steps.append(f"{project.lock_file.name} has the new generations")
    configuration = project.root / CONFIGURATION
    rewritten = rewrite_pin(configuration.read_text(encoding="utf-8"), comparison.target)
    configuration.write_text(rewritten, encoding="utf-8")
    following = ["the tests", "a deployment"]
    if (project.root / "Makefile").exists():
        following = ["make test", "make up", "make deploy"]
    if (project.root / "uv.lock").exists():
        uv.synchronise(project.root)
        steps.append("uv sync has installed it")
    else:
        following.insert(0, "an installation of what pyproject.toml requires")
    return f"{'; '.join(steps)}\nnext: {', then '.join(following)}"
