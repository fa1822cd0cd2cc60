"""Programs that tests run: their output, and the status that they must end with."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path


class CommandFailed(Exception):
    """A command ended with another status than expected; with its output."""


def run_command(
    *command: str | Path,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    statuses: Collection[int] = (0,),
) -> str:
    """Run a command in a folder; all that it prints. ``variables``: its environment.

    Raises:
        CommandFailed: it ended with another status.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode not in statuses:
        line = " ".join(map(str, command))
        raise CommandFailed(f"{line} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout
