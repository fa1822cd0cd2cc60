"""Addresses and versions at the edges of what clients send."""

from __future__ import annotations

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
