"""Clients of a sample domain: types of values, headers, problems, and limits."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import pkgutil
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_type_hints

import httpx
import pytest

from daicho import Domain, Entity, Key, field, ref, uid
from daicho.declare.registry import Daicho
from daicho.web.openapi.document import describe_operations
from daicho.web.routes.builder import build_operations
from tests.support.trials import IS_TRIAL
from tests.support.typed_clients import check_typescript, generate_python, generate_typescript

CONFIG = """
package_name_override: rooms
literal_enums: true
class_overrides:
  Client: {class_name: ClientModel, module_name: client_model}
"""
ROOT_TYPES = ("--root-types", "--root-types-no-schema-prefix", "--root-types-keep-casing")
SENT: list[httpx.Request] = []
ROOM = {
    "id": "r1",
    "client": "c1",
    "opened": "2026-11-21",
    "price": "12.50",
    "state": "open",
    "created_at": "2026-11-21T01:05:40.123456Z",
    "version": 3,
}


class Client(Entity):
    """A name that the Python client has for itself."""

    id: str = uid()
    name: str = field()

    key = Key(id)


class Record(Entity):
    """A name that TypeScript has for itself."""

    id: str = uid()
    name: str | None = field(default=None)

    key = Key(id)


class Room(Entity):
    """A room of a client."""

    client: str = ref(Client)
    id: str = uid()
    opened: dt.date = field()
    price: Decimal = field(ge=0)
    state: Literal["open", "done"] = field(default="open")

    key = Key(client, id)


domain = Domain("import", Client, Record, Room)
domain.resource("/clients/{id}", Client, "POST PUT GET PATCH DELETE LIST")
domain.resource("/records/{id}", Record, "POST PUT GET PATCH DELETE LIST")
domain.resource("/clients/{client}/rooms/{id}", Room, "POST PUT GET PATCH DELETE LIST")


def describe(*domains: Domain) -> dict[str, Any]:
    return describe_operations(build_operations(Daicho(*domains)))


def answer(request: httpx.Request) -> httpx.Response:
    SENT.append(request)
    if request.url.path.endswith("/none"):
        problem = {"type": "/problems/not-found", "title": "Not found", "status": 404, "detail": ""}
        content_type = {"Content-Type": "application/problem+json"}
        return httpx.Response(404, headers=content_type, text=json.dumps(problem))
    if request.url.path.endswith("/busy"):
        problem = {"type": "/problems/too-many-requests", "title": "T", "status": 429, "detail": ""}
        return httpx.Response(429, text=json.dumps(problem))
    if request.url.path.endswith("/refused"):
        return httpx.Response(429, text='{"message":"Too Many Requests"}')
    if request.url.path.endswith("/part"):
        return httpx.Response(200, json={"opened": ROOM["opened"]})
    if request.method == "GET" and request.url.path.endswith("/rooms"):
        return httpx.Response(200, json={"items": [ROOM], "cursor": "next"})
    return httpx.Response(204) if request.method == "DELETE" else httpx.Response(200, json=ROOM)


@pytest.mark.skipif(not IS_TRIAL, reason="type checkers of two languages: make trials")
def test_an_entity_called_record_hides_the_type_of_typescript(tmp_path: Path) -> None:
    types = tmp_path / "clients/typescript/api.d.ts"
    generate_typescript(tmp_path, describe(domain))
    with pytest.raises(AssertionError, match="Type 'Record' is not generic"):
        check_typescript(tmp_path, types)
    generate_typescript(tmp_path, describe(domain), *ROOT_TYPES)
    check_typescript(tmp_path, types)


def test_the_client_of_a_sample_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate_python(tmp_path, describe(domain), CONFIG)
    monkeypatch.syspath_prepend(tmp_path / "clients/python")
    rooms: Any = importlib.import_module("rooms")
    for module in pkgutil.walk_packages(rooms.__path__, "rooms."):
        importlib.import_module(module.name)
    api, models = rooms.api.import_, rooms.models
    assert models.ClientModel and models.Record
    hints = get_type_hints(api.get_client.sync)
    assert hints["client"] == rooms.AuthenticatedClient | rooms.Client
    assert hints["return"] == (
        Any
        | models.ClientModel
        | models.ClientFields
        | models.GatewayMessage
        | models.Problem
        | None
    )
    client = rooms.AuthenticatedClient(base_url="http://api", token="t")
    client.set_httpx_client(
        httpx.Client(base_url="http://api", transport=httpx.MockTransport(answer))
    )

    room = api.get_client_room.sync("c1", "r1", client=client)
    assert room.opened == dt.date(2026, 11, 21)
    assert Decimal(room.price) == Decimal("12.50")
    assert room.created_at == dt.datetime(2026, 11, 21, 1, 5, 40, 123456, dt.UTC)
    page = api.list_client_rooms.sync("c1", client=client, limit=1)
    assert (page.items, page.cursor) == ([room], "next")
    problem = api.get_client_room.sync("c1", "none", client=client)
    assert (type(problem), problem.status, problem.errors) == (
        models.Problem,
        404,
        rooms.types.UNSET,
    )

    assert type(api.get_client_room.sync("c1", "busy", client=client)) is models.Problem
    with pytest.raises(KeyError):  # the second kind of a body of 429
        api.get_client_room.sync("c1", "refused", client=client)
    part = api.get_client_room.sync("c1", "part", client=client, fields="opened")
    assert (type(part), part.opened) == (models.RoomFields, dt.date(2026, 11, 21))

    new = models.NewRoom(opened=room.opened, price="12.50", state=room.state)
    api.create_client_room.sync_detailed("c1", client=client, body=new, idempotency_key="k")
    assert SENT[-1].headers["Idempotency-Key"] == "k"
    assert json.loads(SENT[-1].content) == {
        "opened": "2026-11-21", "price": "12.50", "state": "open",
    }  # fmt: skip
    change = models.RoomChange(state="done")
    api.change_client_room.sync("c1", "r1", client=client, body=change, if_match='"3"')
    assert SENT[-1].headers["If-Match"] == '"3"'
    assert json.loads(SENT[-1].content) == {"state": "done"}
    gone = api.delete_client_room.sync_detailed("c1", "r1", client=client)
    assert (gone.status_code, gone.parsed) == (204, None)
    client.get_httpx_client().close()
