"""A project of somebody who has the wheel: made by `daicho init`, run by its own Makefile.

Nothing is published, so the wheel comes from a folder: uv reads it from ``UV_FIND_LINKS``.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.commands import run_command

BIN = Path(sys.executable).parent
FROM_OUTSIDE = ("MAKE", "MFLAGS", "PYTEST", "VIRTUAL_ENV", "AWS_", "DAICHO_", "PYTHONPATH")
"""Variables by their beginning that somebody with an own project does not have."""
SECOND_ENTITY = '''"""Suppliers: found by name, counted by country."""

from daicho import Aggregate, Count, Domain, Entity, Key, Search, field, uid


class Supplier(Entity):
    """Somebody who delivers."""

    id: str = uid()
    name: str = field(min_length=1)
    country: str = field(min_length=1)

    key = Key(id)
    search = Search(name)
    by_country = Aggregate(Count(), country, ranked=True)


domain = Domain("suppliers", Supplier)
domain.resource("/suppliers/{id}", Supplier, "POST GET")
domain.mount("/countries", Supplier.by_country.top)
'''


@dataclass
class OwnProject:
    """A project in a folder. ``variables``: those of its commands, beside the caller's own."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, name: str, parent: Path, wheels: Path, **variables: str) -> OwnProject:
        """Install the command from the wheel, and let it make the project."""
        project = cls(parent / name, {"UV_FIND_LINKS": str(wheels), **variables})
        tool = parent / "tool"
        project.run(str(BIN / "uv"), "venv", "--quiet", "--python", sys.executable, str(tool))
        python = ("--python", str(tool / "bin/python"))
        wheel = f"daicho[cli] @ {next(wheels.glob('daicho-*.whl')).as_uri()}"
        project.run(str(BIN / "uv"), "pip", "install", "--quiet", *python, wheel)
        project.run(str(tool / "bin/daicho"), "init", name)
        return project

    def make(self, *arguments: str) -> str:
        """Run make in the project; what it prints."""
        return self.run("make", *arguments)

    def run(self, *command: str) -> str:
        """Run a command in the project, or beside it before it is made; its output."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(FROM_OUTSIDE)}
        folder = self.folder if self.folder.exists() else self.folder.parent
        return run_command(*command, folder=folder, variables={**inherited, **self.variables})

    def add_entity(self) -> None:
        """Add a second entity, in one file."""
        (self.folder / "domains/suppliers.py").write_text(SECOND_ENTITY, "utf-8")

    @property
    def stack(self) -> dict[str, Any]:
        """The content of the local stack's file."""
        content: dict[str, Any] = json.loads((self.folder / ".local/stack.json").read_text("utf-8"))
        return content
