"""Addresses and versions at the edges of what clients send."""

from __future__ import annotations

import pytest

from tests.support.api_client import Client
from tests.support.catalogue_domains.products import domain
from tests.support.memory_served import serve_in_memory


def test_a_path_with_a_question_mark_is_cut() -> None:
    """`PUT /x/who%3F` arrives as that of ``who``. No item is called ``who?``, so none is meant."""
    client = serve_in_memory(domain).client
    client.good("PUT", "/products/who", {"name": "first"})
    for method, path in (("POST", "/products"), ("POST", "/offers")):
        answer = client(method, path, {"id": "who?"})
        assert answer.status == 422
        assert "id" in answer.fields
    for way in ("/products/who?", "/products/who%3F", "/products/who/"):
        assert client.send("GET", way).status in (404, 422)
    assert client.good("GET", "/products/who%3F")["id"] == "who"


@pytest.mark.parametrize("tag", ['"02"', '"+2"', '"2.0"', '"2_0"', "2", '"٢"', 'W/"2"', '" 2"'])
def test_a_version_is_matched_as_it_was_answered(client: Client, tag: str) -> None:
    client("DELETE", "/products/v")
    client.good("PUT", "/products/v", {})
    second = client("PUT", "/products/v", {"name": "n"})
    assert second.headers["ETag"] == '"2"'
    assert client("PUT", "/products/v", {}, If_Match=tag).status in (400, 412)
    assert client("DELETE", "/products/v", If_Match=tag).status in (400, 412)
    assert client("PUT", "/products/v", {}, If_Match='"2"').status == 200
