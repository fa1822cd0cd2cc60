"""The page "Change the key of an entity": its edits and its commands, on a table in memory."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.testing import MemoryDeployment
from daicho.web.api import Api
from daicho_cli import project
from daicho_cli.aws import Connection
from daicho_cli.main import app
from examples import person_rows
from tests.support.api_client import Client
from tests.support.how_to_page import Command, HowToPage
from tests.support.repository import ROOT

PACKAGE = "club_domains"
CONFIGURATION = f'[tool.daicho]\nname = "Club"\nsource = "{ROOT}"\ndomains = "{PACKAGE}"\n'
PAGE = HowToPage.read("change-the-key-of-an-entity")


@dataclass
class Club:
    """The project of the page, with its domain file as far as the page has changed it."""

    folder: Path
    text: str = ""

    def write(self, text: str) -> None:
        """Write the domain file; the next command reads it."""
        (self.folder / PACKAGE / "members.py").write_text(text, "utf-8")
        self.text = text
        self.forget()

    def edit(self, section: int) -> None:
        """Make the edits of a section of the page."""
        for edit in PAGE.edits[section]:
            self.write(edit.apply(self.text))

    def forget(self) -> None:
        """Forget what was imported, as a new process does."""
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]
        importlib.invalidate_caches()
        project._find.cache_clear()

    def run(self, line: str) -> str:
        """Run a command of the page; its output."""
        arguments = shlex.split(line.replace("$TABLE", "Club"))
        if arguments[0] == ".venv/bin/daicho":
            result = CliRunner().invoke(app, arguments[1:])
            assert result.exit_code == 0, result.output
            return result.output
        assert arguments[:2] == [".venv/bin/python", "person_rows.py"]
        person_rows.main(*arguments[2:])
        return ""

    @property
    def daicho(self) -> Daicho:
        """The declarations."""
        return project.discover_project()


@pytest.fixture
def club(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Club]:
    (tmp_path / "pyproject.toml").write_text(CONFIGURATION, "utf-8")
    (tmp_path / PACKAGE).mkdir()
    (tmp_path / PACKAGE / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    club = Club(tmp_path)
    club.write((ROOT / "examples/members.py").read_text("utf-8"))
    club.run(".venv/bin/daicho generation --unreleased")
    yield club
    club.forget()


def test_the_items_of_an_entity_get_another_key(
    club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    club.edit(0)
    declared, moving, removed = split_commands()
    club.run(declared)
    deployment = MemoryDeployment(Ledger.load(club.folder / "generations.json"))
    monkeypatch.setattr(Connection, "open", lambda *_, **__: deployment.table)

    def deploy() -> Client:
        """The API with the declarations of now."""
        deployment.deliver()
        return Client(Api(club.daicho, lambda access: deployment.open_book("acme", access)), "acme")

    api = deploy()
    for number in range(40):
        api.good("POST", "/members", build_member(number))
    member = next(each for each in club.daicho.entities if each.__name__ == "Member")
    deployment.open_book("other").create(member(**build_member(1)))
    club.edit(1)
    api = deploy()
    assert api("POST", "/members", build_member(41)).status == 405
    members = [each for team in "ab" for each in api.everything(f"/members?team={team}")]
    assert len(members) == 40
    for command in moving:
        command.check(club.run(command.line))

    club.edit(2)
    api = deploy()
    assert [each for team in "ab" for each in api.everything(f"/persons?team={team}")] == [
        {**each, "email": each["email"].lower()} for each in members
    ]
    for each in members:
        person = api.good("GET", f"/persons/{each['email'].lower()}")
        assert person == {**each, "email": each["email"].lower()}
        assert api.everything(f"/persons?id={each['id']}") == [person]
    api.good("PATCH", "/persons/m3@example.com", {"team": "c"})
    assert api("GET", f"/members/{members[0]['id']}").status == 404

    club.edit(3)
    removed.check(club.run(removed.line))


def split_commands() -> tuple[str, list[Command], Command]:
    """The commands of the page that are no deployments: before, during and after the move."""
    first, *moving, last = (each for each in PAGE.commands if each.line != "make deploy")
    assert [each.line.split()[1] for each in moving] == ["export", "person_rows.py", "load"]
    return first.line, moving, last


def build_member(number: int) -> dict[str, Any]:
    return {"email": f"M{number}@Example.com", "name": f"N{number}", "team": "ab"[number % 2]}


def test_two_items_with_one_new_key_are_named(tmp_path: Path) -> None:
    source = tmp_path / "members.ndjson"
    lines = [{"item": {"email": email}} for email in ("a@x", "b@x", "A@X")]
    source.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    with pytest.raises(SystemExit, match="several members would have the key a@x"):
        person_rows.main(str(source), str(tmp_path / "persons.ndjson"))
    assert not (tmp_path / "persons.ndjson").exists()
