"""The kinds of the queries of the demonstration's domains, which the console is made of."""

from __future__ import annotations

from typing import Any

from daicho.web.openapi.document import describe_api
from daicho.web.openapi.query_kinds import EXTENSION
from tests.support.project_routes import PROJECT_ROUTES

SPEC = describe_api(PROJECT_ROUTES.daicho, PROJECT_ROUTES.ledger)


def list_queries(method: str, path: str) -> list[dict[str, Any]]:
    queries: list[dict[str, Any]] = SPEC["paths"][path][method][EXTENSION]
    return queries


def test_functions_of_a_domain_have_the_kind_that_their_results_show() -> None:
    assert [each["kind"] for each in list_queries("post", "/polls")] == ["create"]
    assert [each["kind"] for each in list_queries("patch", "/polls/{id}")] == ["change"]
    # It returns nothing, but removes the item that the same path changes.
    (delete,) = list_queries("delete", "/polls/{id}")
    assert (delete["kind"], delete["entity"]) == ("delete", "Poll")
    # A figure of the item at the path, and no item.
    (result,) = list_queries("get", "/polls/{id}")
    assert (result["kind"], result["entity"]) == ("custom", "Poll")
    # It orders a cart, and takes no order.
    (checkout,) = list_queries("post", "/carts/{user}/checkout")
    assert (checkout["kind"], checkout["entity"]) == ("custom", "Order")


def test_a_search_names_its_parameter_and_the_fields_that_it_reads() -> None:
    search, listing = list_queries("get", "/contacts")
    assert search["search_parameter"] == "q"
    assert search["searched"] == ["name", "company", "phone", "Category.name"]
    assert search["required"] == ["q"]
    assert {"limit", "cursor"} <= set(search["optional"])
    assert (listing["search_parameter"], listing["searched"]) == (None, [])
