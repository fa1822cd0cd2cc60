"""The API is built for its first request, once."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.declare.domain import Domain
from daicho.declare.registry import Daicho
from daicho.handlers.wiring.http_functions import ApiOnFirstRequest
from daicho.web import api
from tests.support.api_client import Client


def test_the_first_request_builds_the_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Any] = []

    class Counted(api.Api):
        def __init__(self, *given: Any, **named: Any) -> None:
            built.append(named)
            super().__init__(*given, **named)

    monkeypatch.setattr(api, "Api", Counted)
    handler = ApiOnFirstRequest(Daicho(Domain("d")), lambda _access: None, title="Shop")  # type: ignore[arg-type,return-value]
    assert built == []
    client = Client(handler, "acme")
    assert [client("GET", "/nothing").status for _ in range(2)] == [404, 404]
    assert built == [{"title": "Shop"}]
