"""Demo data is loaded again and again, whatever became of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.demo import loader
from local.instance import Place

STACK = {"url": "http://api", "tokens": {"acme": "a", "globex": "b"}}


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[Place]:
    """The places whose data was waited for."""
    found: list[Place] = []
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: list[Place]
) -> None:
    answering(monkeypatch)
    place = Place(tmp_path, 4566)
    loader.load(place, STACK)
    loader.load(place, STACK)  # its messages may have expired by now
    assert settled == [place]


def test_a_closed_tenant_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settled: list[Place]
) -> None:
    answering(monkeypatch, closed="a")
    said: list[str] = []
    assert loader.load(Place(tmp_path, 4566), STACK, said.append) > 0
    assert ["acme" in each and "make reset" in each for each in said] == [True]
    assert not settled
