"""The programs of the local AWS, installed into a project: MiniStack, the CDK, the layer.

All three are pinned with hashes by files of this package. Each is installed again when its file
changes; a step that is already done costs nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from daicho.cdk.functions import assets
from daicho.errors import SettingsError
from daicho.project import Project
from daicho_cli.local.environment import build_installer_environment
from daicho_cli.local.instance import PROGRAMS as FOLDER
from daicho_cli.local.instance import LocalError
from daicho_cli.project import find_root

HERE = Path(__file__).parent
MINISTACK, LAYER, PACKAGES = "ministack", "layer", "packages"
MINISTACK_PINS = HERE / "requirements-ministack.txt"
NODE_FILES = (HERE / "node/package.json", HERE / "node/package-lock.json")
TAIL = 10


@dataclass(frozen=True)
class Program:
    """One thing to install: below which name, from which files, how."""

    name: str
    files: Sequence[Path]
    install: Callable[[Path], None]

    @property
    def digest(self) -> str:
        """A hash of all that decides what is installed."""
        content = b"".join(file.read_bytes() for file in self.files)
        return hashlib.sha256(content + sys.version.encode() + b"1").hexdigest()


def install_programs(folder: Path, programs: Sequence[Program] | None = None) -> list[str]:
    """Install what is missing or outdated below ``folder``; the names of what was installed.

    ``programs``: all of the local AWS, unless others are given.

    Raises:
        LocalError: an installer is missing, or failed.
    """
    chosen = PROGRAMS if programs is None else programs
    missing = [program for program in chosen if not _is_installed(folder, program)]
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(chosen)) as pool:
        done = list(pool.map(lambda program: _install(folder, program), missing))
    return [program.name for program, new in zip(missing, done, strict=True) if new]


def is_outdated(folder: Path, name: str) -> bool:
    """Whether a program of the local AWS is installed below ``folder``, but not as it is pinned."""
    (program,) = (program for program in PROGRAMS if program.name == name)
    return _read_stamp(folder, program) not in ("", program.digest)


def _install(folder: Path, program: Program) -> bool:
    """Install a program unless another process has done it meanwhile; whether it was done here."""
    with (folder / f".{program.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        if _is_installed(folder, program):
            return False
        _stamp(folder, program).unlink(missing_ok=True)  # or a half of it could count as installed
        shutil.rmtree(folder / program.name, ignore_errors=True)
        program.install(folder / program.name)
        _stamp(folder, program).write_text(program.digest, encoding="ascii")
        return True


def _is_installed(folder: Path, program: Program) -> bool:
    return _read_stamp(folder, program) == program.digest


def _stamp(folder: Path, program: Program) -> Path:
    return folder / f".{program.name}"


def _read_stamp(folder: Path, program: Program) -> str:
    stamp = _stamp(folder, program)
    installed = stamp.exists() and (folder / program.name).is_dir()
    return stamp.read_text(encoding="ascii") if installed else ""


def install_environment(folder: Path, requirements: Path) -> None:
    """Make a virtual environment with what ``requirements`` pins.

    Raises:
        LocalError: uv is missing, or failed.
    """
    uv = find_tool("uv")
    run_tool(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
    python = str(folder / "bin/python")
    locked = ("--require-hashes", str(requirements))
    run_tool(uv, "pip", "sync", "--quiet", "--python", python, *locked)


def install_node_packages(folder: Path, files: Sequence[Path]) -> None:
    """Install npm packages into ``folder``; ``files``: the package file and its lock file.

    Raises:
        LocalError: npm is missing, or failed.
    """
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(file, folder)
    run_tool(find_tool("npm"), "ci", "--silent", "--no-audit", "--no-fund", folder=folder)


def list_packages(project: Project) -> list[Program]:
    """The further packages of a project's functions, as a program; none if it names no file."""
    if project.requirements is None:
        return []
    files = (project.requirements,)
    return [Program(PACKAGES, files, partial(_install_layer, files=files))]


def _install_layer(folder: Path, files: Sequence[Path] = ()) -> None:
    try:
        assets.install_packages(folder, None, files)
    except SettingsError as error:
        raise LocalError(str(error)) from error


def find_tool(name: str) -> str:
    """A program in the folder of this Python or on the PATH.

    Raises:
        LocalError: there is none.
    """
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise LocalError(f"{name} is not installed: pip install 'daicho[local]'")
    return found


def run_tool(*command: str, folder: Path | None = None) -> None:
    """Run an installer.

    Raises:
        LocalError: it failed; with its last lines.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        command,
        cwd=folder,
        env=build_installer_environment(os.environ, path, find_root() / FOLDER),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.strip().splitlines()[-TAIL:])
        raise LocalError(
            f"{Path(command[0]).name} {command[1]} failed; {describe_way(os.environ)}:\n{tail}"
        )


def describe_way(environ: Mapping[str, str]) -> str:
    """The way to the registries, for the message of an installer that failed.

    A proxy is not shown: its address may have a password.
    """
    names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    proxies = [name for name in names if environ.get(name)]
    return f"it used the proxy of {proxies[0]}" if proxies else "no proxy is set (HTTPS_PROXY)"


PROGRAMS = (
    Program(
        MINISTACK,
        (MINISTACK_PINS,),
        partial(install_environment, requirements=MINISTACK_PINS),
    ),
    Program("node", NODE_FILES, partial(install_node_packages, files=NODE_FILES)),
    Program(LAYER, (assets.REQUIREMENTS,), _install_layer),
)
