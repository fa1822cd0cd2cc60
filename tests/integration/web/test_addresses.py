"""Addresses: the choices of a query, and paths that lead nowhere."""

from __future__ import annotations

from tests.integration.web.test_bad_input import refused
from tests.support.api_client import Client


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
