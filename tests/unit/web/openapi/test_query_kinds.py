"""The console needs no entity of its own: the description has the kind of every query."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from daicho.web.http.operation import QueryKind
from daicho.web.openapi.document import describe_api
from daicho.web.openapi.query_kinds import EXTENSION
from tests.support.sample_project import DAICHO, LEDGER

SPEC = describe_api(DAICHO, LEDGER)


def list_queries(method: str, path: str) -> list[dict[str, Any]]:
    queries: list[dict[str, Any]] = SPEC["paths"][path][method][EXTENSION]
    return queries


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("get", "/artists", [("search", "Artist")]),
        ("get", "/contacts", [("search", "Contact"), ("list", "Contact")]),
        ("post", "/contacts", [("create", "Contact")]),
        ("patch", "/contacts/{id}", [("change", "Contact")]),
        ("put", "/contacts/{id}/categories/{category}", [("add_member", "Contact")]),
        ("get", "/places", [("list", "Place"), ("list", "Place")]),
        ("get", "/articles/{id}/versions", [("versions", "Article")]),
        ("get", "/articles/{id}/versions/{version}", [("version", "Article")]),
        ("post", "/articles/{id}/versions/{version}/restore", [("restore", "Article")]),
        ("delete", "/articles/{id}/versions", [("forget", "Article")]),
        ("get", "/documents/{id}/{section}", [("section", "Document")]),
        ("put", "/documents/{id}/{section}", [("replace_section", "Document")]),
        ("get", "/charts/{month}", [("ranking", "Download")]),
        ("get", "/revenue/{month}", [("ranking", "Order")]),
        ("get", "/contacts/count", [("total", "Contact")]),
        ("get", "/jobs/{id}", [("custom", None)]),
    ],
)
def test_each_query_has_its_kind_and_entity(
    method: str, path: str, expected: list[tuple[str, str | None]]
) -> None:
    assert [(each["kind"], each["entity"]) for each in list_queries(method, path)] == expected


def test_a_search_names_its_parameter_and_the_fields_that_it_reads() -> None:
    search = next(each for each in list_queries("get", "/contacts") if each["kind"] == "search")
    assert search["search_parameter"] == "q"
    assert search["required"] == ["q"]
    assert {"name", "phone"} <= set(search["searched"])
    assert {"limit", "cursor"} <= set(search["optional"])


def test_a_parameter_with_one_value_is_fixed() -> None:
    open_orders = list_queries("get", "/customers/{customer}/orders")[1]
    assert open_orders["required"] == ["open"]
    assert open_orders["fixed"] == {"open": "true"}


def test_a_limited_creation_has_its_limit() -> None:
    assert list_queries("post", "/categories")[0]["max_items"] == 1_000
    assert "max_items" not in list_queries("post", "/contacts")[0]


def test_every_operation_is_described_and_every_kind_is_known() -> None:
    queries = [
        (operation, query)
        for path in SPEC["paths"].values()
        for operation in path.values()
        for query in operation[EXTENSION]
    ]
    assert len(queries) > 100
    for operation, query in queries:
        named = {parameter["name"] for parameter in operation.get("parameters", [])}
        assert {*query["required"], *query["optional"]} <= named
    # The sample project has no series: tests/integration/aggregates/test_series.py describes one.
    kinds = set(get_args(QueryKind)) - {"series"}
    assert {query["kind"] for _, query in queries} == kinds
