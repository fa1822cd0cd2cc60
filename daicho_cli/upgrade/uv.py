"""What an upgrade needs of uv: available versions, environments, and installation.

uv reads the package index, ``UV_FIND_LINKS`` and ``[tool.uv]`` as it does for the project itself.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from packaging.version import Version

from daicho_cli.local.instance import LocalError
from daicho_cli.local.programs import find_tool
from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.pin import PACKAGE, Pin

NO_SOLUTION = 1
"""uv's exit code where the index answers, and no version fits."""


def find_newest(specifier: str, folder: Path) -> Version | None:
    """The newest version of Daicho that a specifier allows; None if there is none.

    ``folder``: with the ``pyproject.toml`` whose settings of uv hold.

    Raises:
        UpgradeError: uv is missing or failed.
    """
    command = ["pip", "compile", "-", "--no-deps", "--no-header", "--no-annotate", "--quiet"]
    command += ["--python", sys.executable, "--refresh-package", PACKAGE]
    done = _run(command, folder, text=f"{PACKAGE}{specifier}\n")
    if done.returncode == NO_SOLUTION:
        return None
    _check(done, "uv cannot list the versions of daicho")
    lines = [line for line in done.stdout.splitlines() if line.startswith(f"{PACKAGE}==")]
    return Version(lines[0].partition("==")[2].split()[0]) if lines else None


def create_environment(folder: Path, pin: Pin, place: Path) -> Path:
    """A virtual environment with what the project in ``folder`` requires; gives its interpreter.

    Packages keep the versions that are installed here as far as the requirements allow: a newer
    AWS CDK would add differences that are none of Daicho's.

    Raises:
        UpgradeError: uv is missing or failed.
    """
    _call(["venv", "--quiet", "--python", sys.executable, str(place)], folder, "no environment")
    interpreter = place / "bin/python"
    locked = place / "requirements.txt"
    installed = _call(["pip", "freeze", "--python", sys.executable], folder, "no list of packages")
    locked.write_text(
        "".join(
            f"{line}\n"
            for line in installed.splitlines()
            if "==" in line and not line.startswith(f"{PACKAGE}==")
        ),
        encoding="utf-8",
    )
    requirements = ["pyproject.toml"]
    requirements += [part for name in pin.extras for part in ("--extra", name)]
    requirements += [part for name in pin.groups for part in ("--group", name)]
    problem = f"daicho {pin.version} cannot be installed"
    target = ["--python", str(interpreter), "--quiet"]
    options = ["--no-header", "--no-annotate", "--output-file", str(locked)]
    _call(["pip", "compile", *requirements, *target, *options], folder, problem)
    _call(["pip", "install", *target, "-r", str(locked)], folder, problem)
    return interpreter


def synchronise(folder: Path) -> None:
    """Install what the project in ``folder`` requires, as its lock file of uv has it.

    Raises:
        UpgradeError: uv failed; the pin is changed already.
    """
    _call(["sync", "--quiet"], folder, "pyproject.toml is changed, and uv sync fails")


def _call(arguments: list[str], folder: Path, problem: str) -> str:
    done = _run(arguments, folder)
    _check(done, problem)
    return done.stdout


def _run(
    arguments: list[str], folder: Path, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        program = find_tool("uv")
    except LocalError as error:
        raise UpgradeError(str(error)) from error
    return subprocess.run(  # noqa: S603  # uv itself, without a shell
        [program, *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def _check(done: subprocess.CompletedProcess[str], problem: str) -> None:
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"uv ended with {done.returncode}"
        raise UpgradeError(f"{problem}: {reason}")
