"""The API is built for its first request, once."""

from __future__ import annotations

from daicho.declare.domain import Domain
from daicho.declare.registry import Daicho
from daicho.handlers.wiring.http_functions import build_on_first_request
from daicho.web.api import Api
from tests.support.api_client import Client


def test_the_first_request_builds_the_routes() -> None:
    built: list[Api] = []

    def build() -> Api:
        built.append(Api(Daicho(Domain("d")), lambda _access: None, title="Shop"))  # type: ignore[arg-type,return-value]
        return built[-1]

    client = Client(build_on_first_request(build), "acme")
    assert built == []
    assert [client("GET", "/nothing").status for _ in range(2)] == [404, 404]
    assert len(built) == 1
