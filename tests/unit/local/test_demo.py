"""The demo data holds together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local.demo.loader import HERE, Sent, steps
from local.users import TENANTS


@pytest.fixture(params=TENANTS)
def data(request: pytest.FixtureRequest) -> Any:
    return json.loads((HERE / f"{request.param}.json").read_text("utf-8"))


def test_whatever_is_referred_to_is_there(data: dict[str, Any]) -> None:
    assert all(album["artist"] in data["artists"] for album in data["albums"].values())
    assert all(song["artist"] in data["artists"] for song in data["songs"].values())
    assert all(
        song.get("album", None) in {None, *data["albums"]} for song in data["songs"].values()
    )
    assert data["tracks"].keys() <= data["playlists"].keys()
    assert all(tracks.keys() <= data["songs"].keys() for tracks in data["tracks"].values())
    assert data["downloads"].keys() <= data["songs"].keys()
    assert data["sales"].keys() <= data["products"].keys() <= data["songs"].keys()


def test_who_orders_is_there(data: dict[str, Any]) -> None:
    assert {order["customer"] for order in data["orders"]} <= data["users"].keys()
    assert all(place.count("/") == 3 for place in data["places"])


def test_votes_are_for_candidates(data: dict[str, Any]) -> None:
    for poll in data["polls"].values():
        assert set(poll["votes"].values()) <= set(poll["poll"]["candidates"])


def test_what_gets_its_id_from_the_api_is_sent_once(data: dict[str, Any]) -> None:
    requests = [request for step in steps(data) for request in step]
    assert all((request.method == "POST") == (request.once is not None) for request in requests)
    names = [request.once for request in requests if request.once]
    assert len(names) == len(set(names))


def test_what_was_sent_is_remembered(tmp_path: Path) -> None:
    sent = Sent.read(tmp_path / "data/demo.json")
    sent.ids["acme: message 0"] = "42"
    sent.write()
    assert Sent.read(tmp_path / "data/demo.json").ids == {"acme: message 0": "42"}


def test_the_first_tenant_has_the_tables_of_the_seed() -> None:
    data = json.loads((HERE / f"{TENANTS[0]}.json").read_text("utf-8"))
    counts = {kind: len(data[kind]) for kind in ("artists", "albums", "songs")}
    assert counts == {"artists": 3, "albums": 7, "songs": 11}
