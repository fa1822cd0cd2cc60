"""A new entity is one file: copy it, `make generate`, `make up`, and its routes work.

As the README says it, in a copy of the project with an environment of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import client, eventually, everything
from tests.support.dynoxide import free_port

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).parent / "uv"
FROM_OUTSIDE = ("MAKE", "MFLAGS", "PYTEST", "PYTHON", "VIRTUAL_ENV", "AWS_", "DAICHO_")
"""Variables by their beginning that somebody who clones the project does not have."""
OWN_TEST = Path("tests/integration/api/test_tickets.py")


class Project:
    """A clone of the project in another folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tracked = self.run("git", "-C", str(ROOT), "ls-files", "-z", folder=ROOT)
        for name in filter(None, tracked.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        # What make would do by pip, from uv's cache: the rest of the installation is make's.
        environment = folder / ".venv"
        self.run(str(UV), "venv", "--quiet", "--seed", "--python", sys.executable, str(environment))
        locked = ("--require-hashes", "-r", "requirements.txt")
        self.run(str(UV), "pip", "install", "--quiet", *locked)
        (environment / ".uv").touch()

    def make(self, *arguments: str) -> str:
        """Run make; what it prints."""
        return self.run("make", *arguments)

    def run(self, *command: str, folder: Path | None = None) -> str:
        """Run a command in the clone, or in another folder; its output."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(FROM_OUTSIDE)}
        done = subprocess.run(
            command,
            cwd=folder or self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """The clone, with the local stack that is started in it; it ends with the test."""
    clone = Project(tmp_path / "project")
    yield clone
    if (clone.folder / ".local").is_dir():
        clone.make("reset")


def test_the_routes_of_one_new_file_work(project: Project) -> None:
    shutil.copy(project.folder / "examples/tickets.py", project.folder / "functions/domains")
    before = read_files(project.folder)
    said = project.make("generate")
    after = read_files(project.folder)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {
        "docs/reference/access-patterns.md",
        "docs/reference/openapi.json",
        "functions/generations.json",
    }
    assert "generations: Ticket 1" in said
    assert "docs/reference/access-patterns.md written" in said
    assert "docs/reference/openapi.json written" in said
    assert "README.md is up to date" in said

    project.make("up", f"PORT={free_port()}")
    stack: dict[str, Any] = json.loads((project.folder / ".local/stack.json").read_text("utf-8"))
    with client(stack, "acme") as api:
        body = {"title": "Printer on fire", "team": "ops", "opened": "2026-11-21", "minutes": 30}
        created = api.post("/tickets", json=body)
        assert created.status_code == 201, created.text
        ticket = created.json()
        assert api.get(f"/tickets/{ticket['id']}").json() == ticket
        by_title = partial(everything, api, "/tickets", title="prin")
        assert eventually(by_title, bool) == [ticket]
        assert everything(api, "/tickets", team="ops", queue="true") == [ticket]

        done = api.patch(f"/tickets/{ticket['id']}", json={"state": "done"})
        assert done.json() == ticket | {"state": "done", "version": 2}
        queue = partial(everything, api, "/tickets", team="ops", queue="true")
        assert eventually(queue, lambda items: not items) == []
        effort = eventually(partial(everything, api, "/effort/2026-11"), bool)
        assert [(row["team"], row["total"]) for row in effort] == [("ops", 30)]
        assert api.delete(f"/tickets/{ticket['id']}").status_code == 204
        assert api.get(f"/tickets/{ticket['id']}").status_code == 404

    shutil.copy(project.folder / "examples/test_tickets.py", project.folder / OWN_TEST.parent)
    project.run(".venv/bin/python", "-m", "pytest", str(OWN_TEST), "-q")


def read_files(folder: Path) -> dict[str, bytes]:
    """The files of a project by name, without what is installed and cached."""
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder): path for path in files}
    return {
        str(name): path.read_bytes()
        for name, path in names.items()
        if not any(part.startswith(".") or part == "__pycache__" for part in name.parts)
    }
