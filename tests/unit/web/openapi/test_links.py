"""Links lead from a list to its next page, and from a created item to the item."""

from __future__ import annotations

from typing import Any

from daicho.web.openapi.document import describe_api
from daicho.web.openapi.links import NEXT_PAGE
from tests.support.sample_project import DAICHO, LEDGER

SPEC = describe_api(DAICHO, LEDGER)


def links_of(method: str, path: str, status: str) -> dict[str, Any]:
    found: dict[str, Any] = SPEC["paths"][path][method]["responses"][status].get("links", {})
    return found


def test_a_list_links_to_its_next_page() -> None:
    link = links_of("get", "/artists/{artist}/songs", "200")[NEXT_PAGE]
    assert link["operationId"] == SPEC["paths"]["/artists/{artist}/songs"]["get"]["operationId"]
    assert link["parameters"] == {
        "artist": "$request.path.artist",
        "cursor": "$response.body#/cursor",
    }


def test_one_item_has_no_next_page() -> None:
    assert links_of("get", "/artists/{id}", "200") == {}


def test_a_created_item_links_to_itself() -> None:
    assert links_of("post", "/contacts", "201")["Item"]["parameters"] == {
        "id": "$response.body#/id"
    }
    assert links_of("put", "/artists/{id}", "201")["Item"]["parameters"] == {
        "id": "$request.path.id"
    }


def test_every_link_names_an_operation_and_its_parameters() -> None:
    operations = {
        operation["operationId"]: operation
        for ways in SPEC["paths"].values()
        for operation in ways.values()
    }
    links = [
        link
        for operation in operations.values()
        for response in operation["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert len(links) > 30
    for link in links:
        named = {each["name"] for each in operations[link["operationId"]]["parameters"]}
        assert set(link["parameters"]) <= named
