"""The assets of the functions: their code, the lock file, and the layer of imported packages.

The code is the library, the project's packages and its lock file, in one folder. What only a
developer's machine or a deployment uses is left out: `daicho.cdk`, `daicho.testing`. Handlers that
fail on request are in the code of stage local only (ADR 0175). The lock file is deployed a second
time, apart from the code, so that code can be rolled back without it (EXACTNESS rule 27). A
function uses the newer one of the two.

The layer is built by uv or pip for Lambda's machine and Python on any host, from wheels alone, as
``requirements-layer.txt`` pins them with hashes. Whatever would differ from host to host is removed
from it, so that its hash in the template is the same everywhere. This module imports no CDK.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from daicho.errors import SettingsError
from daicho.plan import LOCK_FILE_NAME
from daicho.project import Project

REQUIREMENTS = Path(__file__).with_name("requirements-layer.txt")
FORMAT = "1"
"""Part of the name of a built layer: a change of how it is built is another layer."""
NOT_IN_LAYER = ("bin", ".lock", "**/__pycache__")
"""Scripts name the interpreter of this host; what is compiled belongs to its Python."""
NOT_IN_METADATA = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")
"""Files of an installation, which name the scripts and the installer."""


@dataclass(frozen=True)
class Platform:
    """A machine and its Python, as pip and uv call them."""

    pip: tuple[str, ...]
    uv: str
    python: str


LAMBDA_ARM64 = Platform(
    pip=("manylinux2014_aarch64", "manylinux_2_28_aarch64"),
    uv="aarch64-manylinux_2_28",
    python="3.14",
)
"""Amazon Linux 2023 has glibc 2.34."""


def build_lambda_layer(cache: Path | None = None, more: Path | None = None) -> Path:
    """The folder of the layer for Lambda; it is built if the cache does not have it.

    ``cache``: the folder of built layers; default: ``daicho`` in the user's folder of caches.
    ``more``: the requirements of a project.

    Raises:
        SettingsError: neither uv nor pip is installed, or it could not build the layer.
    """
    content = REQUIREMENTS.read_bytes() + (more.read_bytes() if more else b"")
    digest = hashlib.sha256(content + repr((LAMBDA_ARM64, FORMAT)).encode()).hexdigest()
    folder = (cache or _find_cache()) / f"layer-{digest[:16]}"
    if not (folder / "python").is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
            built = Path(draft) / "layer"
            files = (REQUIREMENTS, *((more,) if more else ()))
            install_packages(built / "python", LAMBDA_ARM64, files)
            try:
                built.rename(folder)
            except OSError:
                # Another process has built the same layer meanwhile.
                if not (folder / "python").is_dir():
                    raise
    return folder


def install_packages(
    folder: Path, platform: Platform | None = None, files: Sequence[Path] = ()
) -> None:
    """Install what the functions import into ``folder``, without what differs between hosts.

    ``platform``: where it will run; None for this host and its Python. ``files``: of requirements
    that do not contradict each other; the library's by default.

    Raises:
        SettingsError: neither uv nor pip is installed, or it failed.
    """
    given = [part for file in files or (REQUIREMENTS,) for part in ("--requirement", str(file))]
    command = [*_build_command(folder, platform), *given]
    done = subprocess.run(  # noqa: S603  # an absolute path, no shell
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        tail = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise SettingsError(f"the layer could not be built by {Path(command[0]).name}:\n{tail}")
    _remove_traces(folder)


def _build_command(folder: Path, platform: Platform | None) -> list[str]:
    locked = ["--quiet", "--no-deps", "--require-hashes", "--target", str(folder)]
    if uv := _find_uv():
        place = ["--python", sys.executable]
        if platform:
            place = ["--python-platform", platform.uv, "--python-version", platform.python]
        return [uv, "pip", "install", *locked, "--only-binary", ":all:", *place]
    if find_spec("pip") is None:
        raise SettingsError("the layer needs uv or pip to be built: pip install uv")
    place = ["--only-binary=:all:", "--no-compile", "--disable-pip-version-check"]
    if platform:
        place += [f"--platform={name}" for name in platform.pip]
        place += ["--implementation=cp", f"--python-version={platform.python}"]
    return [sys.executable, "-m", "pip", "install", *locked, *place]


def _find_uv() -> str | None:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def _find_cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "daicho"


def _remove_traces(folder: Path) -> None:
    for pattern in NOT_IN_LAYER:
        for path in sorted(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for metadata in folder.glob("*.dist-info"):
        for name in NOT_IN_METADATA:
            (metadata / name).unlink(missing_ok=True)
    make_readable(folder)


def make_readable(folder: Path) -> None:
    """Let every user read a folder, whatever the umask of this one: a function has its own user."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


LIBRARY = Path(__file__).parents[2]
NOT_IN_FUNCTIONS = ("cdk", "testing", "local")
LOCAL_FUNCTIONS = ("project", "ops")
"""The functions for which `daicho.local` has a handler."""
NOT_CODE = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "node_modules")
"""What tools write, and hidden files, which may hold secrets."""


def gather_code(project: Project, *, is_local: bool = False) -> Path:
    """Copy the code of a project's functions into a temporary folder. ``is_local``: the stage."""
    folder = _make_folder("functions")
    copy_code(project, folder, is_local=is_local)
    return folder


def gather_ledger(project: Project) -> Path:
    """Copy a project's lock file into a temporary folder: the content of its layer."""
    folder = _make_folder("ledger")
    shutil.copyfile(project.lock_file, folder / LOCK_FILE_NAME)
    make_readable(folder)
    return folder


def _make_folder(content: str) -> Path:
    """A folder that CDK copies into its own output; it is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"daicho-{content}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def copy_code(project: Project, folder: Path, *, is_local: bool = False) -> None:
    """Copy the code of a project's functions into ``folder``. ``is_local``: for stage local.

    Raises:
        FileNotFoundError: the project lacks a package or its lock file, which `Project.check`
            refuses.
    """
    shutil.copytree(LIBRARY, folder / LIBRARY.name, ignore=_ignore_parts)
    if is_local:
        shutil.copytree(LIBRARY / "local", folder / LIBRARY.name / "local", ignore=NOT_CODE)
    for package in project.packages:
        shutil.copytree(project.source / package, folder / package, ignore=NOT_CODE)
    shutil.copyfile(project.lock_file, folder / LOCK_FILE_NAME)
    make_readable(folder)


def _ignore_parts(folder: str, names: list[str]) -> set[str]:
    parts = NOT_IN_FUNCTIONS if Path(folder) == LIBRARY else ()
    return {*NOT_CODE(folder, names), *(name for name in names if name in parts)}
