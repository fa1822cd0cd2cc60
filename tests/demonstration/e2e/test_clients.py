"""Typed clients of the deployed API's own description, in Python and TypeScript."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from daicho.declare.fields import new_id
from tests.e2e.api import eventually
from tests.support.repository import ROOT
from tests.support.typed_clients import (
    check_typescript,
    copy_examples,
    generate_python,
    generate_typescript,
    run_node,
)

PROGRAM = ROOT / "tests/demonstration/e2e/typescript_client.mts"


@pytest.fixture(scope="module")
def folder(stack: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both clients, and the programs that use them."""
    folder = tmp_path_factory.mktemp("clients")
    answer = httpx.get(f"{stack['url']}/openapi.json", timeout=60).raise_for_status()
    generate_python(folder, answer.json())
    generate_typescript(folder, answer.json())
    copy_examples(folder, ROOT / "examples/clients/contacts.mts", PROGRAM)
    return folder


@pytest.fixture
def contacts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The Python program with the generated package."""
    monkeypatch.syspath_prepend(folder / "clients/python")
    yield importlib.import_module("examples.clients.contacts")
    for name in list(sys.modules):
        if name.partition(".")[0] == "daicho_client" or name == "examples.clients.contacts":
            del sys.modules[name]


def test_the_python_client(stack: dict[str, Any], contacts: Any) -> None:
    with contacts.open_client(stack["url"], stack["tokens"]["acme"]) as client:
        key = new_id()
        contact = contacts.add_contact(client, "Mika", key)
        assert contacts.add_contact(client, "Mika", key) == contact
        assert contacts.read_contact(client, contact.id) == contact
        assert (contact.name, contact.version, contact.categories) == ("Mika", 1, [])
        assert dt.datetime.now(dt.UTC) - contact.created_at < dt.timedelta(minutes=5)

        renamed = contacts.rename_contact(client, contact.id, "Mika Yamada")
        assert (renamed.name, renamed.company, renamed.version) == ("Mika Yamada", "Acme", 2)
        late = contacts.change_contact.sync_detailed(
            contact.id, client=client, body=contacts.ContactChange(name="Late"), if_match='"1"'
        )
        assert (late.status_code, type(late.parsed)) == (412, contacts.Problem)

        calls = [contacts.add_call(client, contact.id, seconds) for seconds in (10, 20, 30)]

        def read_calls() -> list[Any]:
            return list(contacts.list_calls(client, contact.id, limit=2))

        assert eventually(read_calls, lambda listed: len(listed) == 3) == calls[::-1]

        with pytest.raises(contacts.ProblemError) as missing:
            contacts.read_contact(client, "none")
        problem = missing.value.problem
        assert (problem.status, problem.title) == (404, "Not Found")
        assert httpx.get(problem.type_).status_code == 200
        with pytest.raises(contacts.ProblemError) as invalid:
            contacts.add_call(client, contact.id, -1)
        problem = invalid.value.problem
        assert (problem.status, [each.field for each in problem.errors]) == (422, ["seconds"])
    with (
        contacts.open_client(stack["url"], "no token") as client,
        pytest.raises(contacts.GatewayError, match="Unauthorized"),
    ):
        contacts.read_contact(client, "none")


def test_the_typescript_client(stack: dict[str, Any], folder: Path) -> None:
    program = folder / PROGRAM.relative_to(ROOT)
    check_typescript(folder, program)
    seen = json.loads(run_node(folder, program, stack["url"], stack["tokens"]["globex"]))
    contact = seen["contact"]
    assert seen["again"] == seen["read"] == contact
    assert (contact["name"], contact["version"]) == ("Mika", 1)
    assert (seen["renamed"]["name"], seen["renamed"]["version"]) == ("Mika Yamada", 2)
    assert seen["late"] == 412
    assert seen["calls"] == [30, 20, 10]
    assert (seen["missing"]["status"], seen["missing"]["title"]) == (404, "Not Found")
    assert seen["invalid"]["status"] == 422
    assert [each["field"] for each in seen["invalid"]["errors"]] == ["seconds"]
