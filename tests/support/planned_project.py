"""A project whose declarations change: each version in a folder of its own, with one lock file.

Each folder has a package with a name of its own, so one process can import all versions.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daicho.declare.registry import Daicho
from daicho.layout.backfill_state import RECORDED_KEY
from daicho.layout.base_item import build_base_item
from daicho.plan import Decisions, Ledger
from daicho.plan.lockfile import write_lock_file
from daicho.project import Project
from daicho.release.states import read_stage_states
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import to_image
from daicho.storage.protocols import apply_update
from daicho.storage.requests import to_key_image
from daicho.storage.table import Table
from daicho.web import openapi
from daicho_cli.contract.command import DESCRIPTION
from daicho_cli.main import app

_HEAD = '''"""Users."""

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, each, field, uid


class User(Entity):
    """Somebody."""

    id: str = uid()
    name: str = field()
    email: str = field(default="")
    country: str = field(default="")
    tags: set[str] = field(factory=set)

'''
_TAIL = """

domain = Domain("users", User)
domain.resource("/users/{id}", User, "POST GET")
"""


def render_module(*declarations: str, key: str = "id", routes: str = "") -> str:
    """The domain file of an entity ``User`` with these declarations."""
    lines = (f"key = Key({key})", *declarations)
    return _HEAD + "".join(f"    {line}\n" for line in lines) + _TAIL + routes


@dataclass
class ChangingProject:
    """Versions of a project below ``folder``. ``ledger``: the lock file of the newest one."""

    folder: Path
    ledger: Ledger = field(default_factory=Ledger)

    def write(
        self,
        module: str,
        *,
        generation: bool = True,
        decisions: Decisions = Decisions(),  # noqa: B008  # immutable
    ) -> Path:
        """Write a version; its folder. ``generation``: add it to the lock file."""
        name = f"declared_{uuid.uuid4().hex}"
        root = self.folder / name
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text("")
        (root / name / "users.py").write_text(module, "utf-8")
        configuration = f'[tool.daicho]\nname = "Shop"\ndomains = "{name}"\n'
        (root / "pyproject.toml").write_text(configuration, "utf-8")
        if generation:
            self.ledger = discover(root).append_generations(self.ledger, decisions)
        write_lock_file(self.ledger, root / "generations.json")
        return root

    def write_description(self, root: Path, *, of: Path) -> None:
        """Write the OpenAPI document of one version into the folder of another."""
        daicho = discover(of)
        document = openapi.describe_api(daicho, daicho.append_generations(self.ledger))
        (root / DESCRIPTION).parent.mkdir(parents=True, exist_ok=True)
        (root / DESCRIPTION).write_text(json.dumps(document), "utf-8")


def discover(root: Path) -> Daicho:
    """The declarations of a version."""
    return Project.find(root).discover()


def record_release(table: Table, ledger: Ledger) -> None:
    """Write the backfill items that a deployment of a ledger writes."""
    stage = read_stage_states(table)
    for entity, state in stage.plan_release(ledger).items():
        apply_update(table, state.to_update(stage.states.get(entity)))
    table.put({**to_key_image(RECORDED_KEY), "recorded": {"BOOL": True}})


def write_users(table: Table, ledger: Ledger, users: Iterable[Mapping[str, Any]]) -> None:
    """Store users of the newest generation, with ids that count from 0."""
    generation = ledger.newest_generation("User")
    table.batch_write(
        build_base_item("acme", generation, to_image({"id": f"{n:026d}", **values}), utc_now())
        for n, values in enumerate(users)
    )


def make_runner(
    command: str, endpoint: str, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """A function that calls a command in a folder, on a table unless ``--table`` names another."""

    def call(root: Path, *options: str, **given: Any) -> Result:
        monkeypatch.chdir(root)
        where = [] if "--table" in options else ["--table", table_name]
        return CliRunner().invoke(app, [command, *where, "--endpoint", endpoint, *options], **given)

    return call
