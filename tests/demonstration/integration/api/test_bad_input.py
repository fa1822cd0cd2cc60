"""Bad input to the demonstration: the right 4xx, the field named, nothing written."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.web.test_bad_input import nothing_is_written, refused
from tests.support.api_client import Client

__all__ = ["nothing_is_written"]


@pytest.mark.parametrize(
    ("url", "body", "field"),
    [
        ("/artists/1", {"name": "n" * 257}, "name"),
        ("/artists/1", {"name": "n", "career_start": 10**39}, "career_start"),
        ("/albums/1", {"title": "t" * 420_000, "artist": "1", "genre": "g"}, "title"),
        ("/albums/1", {"title": "題" * 140_000, "artist": "1", "genre": "g"}, "title"),
        ("/albums/1", {"title": "t", "artist": "1", "genre": "g" * 1_100}, "genre"),
        ("/albums/1", {"title": "t", "artist": "a" * 2_100, "genre": "g"}, "artist"),
        ("/albums/1", {"title": "t", "artist": "", "genre": "g"}, "artist"),
        ("/songs/1", {"title": "t" * 3_000, "artist": "1", "released": 1}, "title"),
        ("/songs/1", {"title": "t", "artist": "1", "released": 10_000}, "released"),
        ("/songs/1", {"title": "t", "artist": "1", "released": -1}, "released"),
        ("/playlists/1/songs/1", {"note": "n" * 420_000}, "note"),
    ],
)
def test_values_that_are_too_much(acme: Client, url: str, body: Any, field: str) -> None:
    refused(acme("PUT", url, body), 422, field)


def test_what_would_have_no_address(acme: Client) -> None:
    refused(acme("PUT", "/articles/count", {"title": "How many", "text": "…"}), 422, "id")
    for url, field, body in (
        ("/orders", "customer", {"date": "2026-11-21"}),
        ("/devices/d/reports", "escalated_to", {}),
        ("/songs", "artist", {"title": "t", "released": 1}),
    ):
        refused(acme("POST", url, {**body, field: "a/b"}), 422, field)
