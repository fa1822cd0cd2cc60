"""Describe a project as the installed version sees it, in one JSON file.

``python -m daicho_cli.upgrade.describe OUT.json --stage dev`` runs in the folder of a project. An
upgrade runs it under both versions, in copies of the project. With ``--locked`` the lock file must
have the generations of the declarations. Otherwise it is written as this version would write it,
because an app refuses declarations without their generations.

The arguments and ``FORMAT`` are an interface between versions: an older version runs this module of
a newer one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from daicho.errors import DaichoError, DeclarationError
from daicho.plan.lockfile import write_lock_file
from daicho.project import Project
from daicho.runtime.version import VERSION
from daicho_cli.upgrade.synthesis import synthesise

if TYPE_CHECKING:
    from daicho.declare.registry import Daicho
    from daicho.plan import Ledger

FORMAT = 1
Synthesise = Callable[[Path, Mapping[str, str]], dict[str, Any]]


class DescribedProject(Protocol):
    """What a description needs of a project (`daicho.project.Project`)."""

    @property
    def name(self) -> str:
        """Begins the names of the stacks."""

    @property
    def root(self) -> Path:
        """The folder with the app."""

    @property
    def lock_file(self) -> Path:
        """The generations."""

    def discover(self) -> Daicho:
        """Import the declarations."""

    def load_ledger(self) -> Ledger:
        """Read the lock file."""


def describe_project(
    project: DescribedProject,
    stages: Iterable[str],
    context: Mapping[str, str],
    *,
    locked: bool,
    synthesise: Synthesise = synthesise,
) -> dict[str, Any]:
    """The description, as plain JSON values.

    Unless ``locked``, missing generations are appended to the project's lock file.

    Raises:
        DaichoError: the project cannot be read, or its app failed.
        DeclarationError: this version refuses its declarations, or they are not locked.
    """
    from daicho.web import openapi  # noqa: PLC0415  # it loads Powertools

    committed = project.load_ledger()
    daicho = project.discover()
    if locked:
        ledger = daicho.check_locked(committed)
    else:
        ledger = daicho.append_generations(committed)
        write_lock_file(ledger, project.lock_file)
    return {
        "format": FORMAT,
        "version": VERSION,
        "project": project.name,
        "ledger": ledger.to_json(),
        "api": openapi.describe_api(daicho, ledger),
        "templates": {
            stage: synthesise(project.root, {**context, "stage": stage}) for stage in stages
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the description of the project of this folder; gives the exit status."""
    parser = argparse.ArgumentParser(prog="daicho_cli.upgrade.describe")
    parser.add_argument("file", type=Path)
    parser.add_argument("--stage", action="append", default=[])
    parser.add_argument("--context", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--locked", action="store_true")
    options = parser.parse_args(arguments)
    context = dict(pair.partition("=")[::2] for pair in options.context)
    try:
        project = Project.find(Path.cwd())
        description = describe_project(
            project, options.stage or ["dev"], context, locked=options.locked
        )
    except (DaichoError, DeclarationError) as error:
        print(error, file=sys.stderr)  # noqa: T201  # the caller's only channel
        return 1
    options.file.write_text(json.dumps(description), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
