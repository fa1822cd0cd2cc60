"""Addresses: choices of a query, keywords, paths that lead nowhere, and any id."""

from __future__ import annotations

import pytest

from tests.integration.web.test_bad_input import refused
from tests.support.api_client import Client, segment


def test_choices_are_listed(acme: Client) -> None:
    for query in ("", "?released=1977", "?artist=x&title=y", "?limit=5"):
        answer = acme("GET", f"/songs{query}")
        refused(answer, 400)
        for choice in ("?title=", "?artist=&released=", "?artist="):
            assert choice in answer.json["detail"]


def test_paths_that_lead_nowhere(acme: Client) -> None:
    for path in (
        *("//", "/song", "/songs/", "/songs/1/", "/songs//playlists", "/artists/a%2Fb/x"),
        *("/docs/x", "/charts/2026-11/x/y", "/songs%0A", "/SONGS"),
    ):
        refused(acme("GET", path), 404)


SPECIAL = (
    "#",
    "$",
    "a#b$c",
    "$23",
    "a b",
    "日本語",
    "😀",
    '"<>\\`',
    "+",
    "a\nb",
    "'",
    "~",
)


@pytest.mark.parametrize("id", SPECIAL)
def test_any_id_comes_back_as_it_was_sent(acme: Client, id: str) -> None:
    url = f"/artists/{segment(id)}"
    answer = acme("PUT", url, {"name": id})
    assert answer.status == 201, answer.text
    assert answer.json["id"] == id
    assert acme.good("GET", answer.headers["Location"])["id"] == id
    assert acme("DELETE", answer.headers["Location"]).status == 204
