"""What writes the clients: installed into the project's folder when a client is first written."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from daicho_cli.local.instance import LocalError
from daicho_cli.local.programs import (
    Program,
    install_environment,
    install_node_packages,
    install_programs,
)
from daicho_cli.terminal import CommandError

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements-clients.txt"
NODE_FILES = (HERE / "node/package.json", HERE / "node/package-lock.json")
PYTHON = Program(
    "python-client", (REQUIREMENTS,), partial(install_environment, requirements=REQUIREMENTS)
)
TYPESCRIPT = Program(
    "typescript-client", NODE_FILES, partial(install_node_packages, files=NODE_FILES)
)


def install_generator(folder: Path, program: Program) -> Path:
    """Install a generator below ``folder``, unless it is there; its own folder.

    Raises:
        CommandError: an installer is missing, or failed.
    """
    try:
        install_programs(folder, (program,))
    except LocalError as error:
        raise CommandError(str(error)) from error
    return folder / program.name
