"""The demo data: it holds together, and it is loaded again and again, whatever became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.users import TENANTS
from demonstration import loader
from demonstration.loader import HERE, steps
from tests.support.repository import PROJECT


@pytest.fixture(params=TENANTS)
def data(request: pytest.FixtureRequest) -> Any:
    return json.loads((HERE / f"{request.param}.json").read_text("utf-8"))


def test_what_gets_its_id_from_the_api_is_sent_once(data: dict[str, Any]) -> None:
    requests = [request for step in steps(data) for request in step]
    assert all((request.method == "POST") == (request.once is not None) for request in requests)
    names = [request.once for request in requests if request.once]
    assert len(names) == len(set(names))


STACK = {"url": "http://api", "tokens": {"acme": "a", "globex": "b"}}


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[LocalInstance]:
    """The places whose data was waited for."""
    found: list[LocalInstance] = []
    monkeypatch.setattr(loader, "_settle", lambda place, _: found.append(place))
    return found


def answering(monkeypatch: pytest.MonkeyPatch, closed: str | None = None) -> None:
    """An API that takes everything, but of a tenant that is closed nothing."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.headers["authorization"] == closed:
            return httpx.Response(410, json={"detail": "closed"})
        return httpx.Response(201, json={"id": "1"})

    def api(_: Mapping[str, Any], token: str) -> httpx.Client:
        return httpx.Client(
            base_url="http://api",
            headers={"authorization": token},
            transport=httpx.MockTransport(answer),
        )

    monkeypatch.setattr(loader, "_api", api)


def test_it_must_show_itself_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: list[LocalInstance]
) -> None:
    answering(monkeypatch)
    place = LocalInstance(tmp_path, 4566, PROJECT)
    loader.load(place, STACK)
    loader.load(place, STACK)  # its messages may have expired by now
    assert settled == [place]


def test_a_closed_tenant_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: list[LocalInstance]
) -> None:
    answering(monkeypatch, closed="a")
    said: list[str] = []
    assert loader.load(LocalInstance(tmp_path, 4566, PROJECT), STACK, said.append) > 0
    assert ["acme" in each and "make reset" in each for each in said] == [True]
    assert not settled
