"""Places (seed 002) over HTTP: a hierarchical sort key through a real gateway's decoding."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.e2e.api import client, everything

PLACES = [
    ("nippon", "kanto", "tokyo", "chiyoda"),
    ("nippon", "kanto", "tokyo", "minato"),
    ("nippon", "kanto", "kanagawa", "yokohama"),
    ("nippon", "kantoku", "x", "y"),
    ("日本", "a#b", "100 $ !", "é ~"),
]
SLASHED = ("n/a", "%2F", "s", "c")


def test_places_under_every_level(stack: dict[str, Any]) -> None:
    with client(stack, "acme") as api:
        for place in PLACES:
            there = "/places/" + "/".join(quote(each, safe="") for each in place)
            answer = api.put(there, json={"population": 1})
            assert answer.status_code in (200, 201), answer.text
            assert api.get(there).json()["city"] == place[3]
        names = dict(zip(("country", "region", "state", "city"), SLASHED, strict=True))
        api.put("/places", params=names, json={"population": 2}).raise_for_status()
        assert api.get("/places", params=names).json()["population"] == 2
        for place in (*PLACES, SLASHED):
            for level in range(1, 5):
                head = "/".join(quote(each, safe="") for each in place[:level])
                found = everything(api, "/places", under=head, limit=2)
                listed = [tuple(each[name] for name in names) for each in found]
                expected = [each for each in (*PLACES, SLASHED) if each[:level] == place[:level]]
                assert listed == sorted(expected)
        assert everything(api, "/places", under="nippon/kan") == []
        assert api.get("/places", params={"under": "nippon/"}).status_code == 422
        listed = [
            tuple(each[name] for name in names) for each in everything(api, "/places", limit=3)
        ]
        assert listed == sorted(listed)
        assert {*PLACES, SLASHED} <= set(listed)
    with client(stack, "globex") as other:
        assert everything(other, "/places", under="nippon") == []
