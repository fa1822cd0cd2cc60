"""``daicho init``: the files of a new project, from the templates next to this module."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from daicho.runtime.version import VERSION
from daicho_cli.terminal import end_command

TEMPLATES = Path(__file__).parent / "templates"
SUFFIX = ".template"
"""The end of the name of a template that tools would take for a file of this repository."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MAX_NAME = 32
TAKEN = ("daicho", "domains", "tests")
"""Names that the project's own packages or its dependency have."""


class InitError(Exception):
    """The project cannot be made. The message is one sentence with what to do."""


def init(
    name: Annotated[str, typer.Argument(help="The project: a-z, 0-9 and -, as in my-shop.")],
    folder: Annotated[
        Path | None, typer.Option(help="The folder of the project.", show_default="NAME")
    ] = None,
) -> None:
    """Make a new project: an app with one entity, its test, and all to run and deploy it."""
    place = Path(name) if folder is None else folder
    try:
        files = create_project(name, place)
    except InitError as error:
        end_command(f"daicho init: {error}", 1)
    typer.echo(f"{len(files)} files in {place}. Next:\n\n  cd {place}\n  make up\n  make test")


def create_project(name: str, folder: Path) -> list[str]:
    """Write the files of a project; their names.

    Nothing is left behind if it fails.

    Raises:
        InitError: the name is none for a package and a stack, or the folder is not empty.
    """
    check_name(name)
    folder = folder.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InitError(f"{folder} is not empty: name another folder by --folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".daicho-init-") as draft:
        project = Path(draft) / "project"
        _write_templates(project, {"name": name, "title": make_title(name), "version": VERSION})
        _write_lock_file(project)
        files = sorted(str(p.relative_to(project)) for p in project.rglob("*") if p.is_file())
        folder.mkdir(exist_ok=True)
        for path in project.iterdir():
            shutil.move(path, folder)
    return files


def check_name(name: str) -> None:
    """Check that a project can have this name.

    Raises:
        InitError: it cannot.
    """
    if not NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise InitError(
            f"{name!r} cannot name a package and a stack: take a-z, 0-9 and single - between "
            f"them, a letter first, at most {MAX_NAME} characters"
        )
    if name in TAKEN:
        raise InitError(f"a project cannot be called {name}: choose a name of your own")


def make_title(name: str) -> str:
    """The name as stacks have it: my-shop is MyShop."""
    return "".join(word.capitalize() for word in name.split("-"))


def _write_templates(project: Path, values: dict[str, str]) -> None:
    for template in sorted(path for path in TEMPLATES.rglob("*") if path.is_file()):
        if "__pycache__" in template.parts:
            continue
        text = template.read_text(encoding="utf-8")
        for key, value in values.items():
            text = text.replace(f"{{{{{key}}}}}", value)
        path = project / template.relative_to(TEMPLATES)
        if path.suffix == SUFFIX:
            path = path.with_suffix("")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _write_lock_file(project: Path) -> None:
    """Lock the declarations. A process of its own imports them: their package is `domains`."""
    done = subprocess.run(  # this Python, no shell
        [sys.executable, "-B", "-m", "daicho_cli", "generation"],
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise InitError(f"the declarations could not be locked: {done.stderr.strip()}")
