"""Places: a hierarchy in one sort key, asked at every level, over the real handlers."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.support.api_client import Client, segment
from tests.support.deployment import Served

Place = tuple[str, str, str, str]
NAMES = (
    "japan",
    "kan",
    "kanto",
    "kantō",
    "関東",
    "a#b",
    "a!b",
    "$23",
    "100%",
    "a b",
    "a+b",
    "~",
    "é",
)
SLASHED: Place = ("n/a", "a/b", "/", "x%2Fy")
PLACES: list[Place] = [
    ("japan", "kanto", "tokyo", "chiyoda"),
    ("japan", "kanto", "tokyo", "minato"),
    ("japan", "kanto", "kanagawa", "yokohama"),
    ("japan", "kantoku", "x", "y"),
    ("japan", "kan", "sai", "osaka"),
    ("japan!", "kanto", "tokyo", "chiyoda"),
    ("japan#kanto", "tokyo", "chiyoda", "x"),
    *[(one, two, "state", "city") for one in NAMES for two in NAMES],
]


def path_of(place: Place) -> str:
    return "/places/" + "/".join(map(segment, place))


def query_of(place: Place) -> str:
    names = ("country", "region", "state", "city")
    return "/places?" + "&".join(f"{n}={segment(v)}" for n, v in zip(names, place, strict=True))


def under(*components: str) -> str:
    """Each component is encoded as in a path, then all of it as a value."""
    return segment("/".join(quote(each, safe="") for each in components))


def shown(items: list[dict[str, Any]]) -> list[Place]:
    return [(each["country"], each["region"], each["state"], each["city"]) for each in items]


@pytest.fixture(scope="module", autouse=True)
def places(served: Served, acme: Client, globex: Client) -> None:
    for place in PLACES:
        has_address = "%" not in "".join(place)
        url = path_of(place) if has_address else query_of(place)
        answer = acme("PUT", url, {"note": "/".join(place)})
        assert answer.status == 201, answer.text
        assert acme.good("GET", answer.headers["Location"])["note"] == "/".join(place)
    assert acme("PUT", query_of(SLASHED), {"population": 3}).status == 201
    globex.good("PUT", path_of(PLACES[0]), {"note": "theirs"})


def everywhere() -> list[Place]:
    return sorted([*PLACES, SLASHED])


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_what_is_under_every_place_at_every_level(acme: Client, level: int) -> None:
    for head in sorted({place[:level] for place in everywhere()}):
        found = shown(acme.everything(f"/places?under={under(*head)}", limit=3))
        assert found == [place for place in everywhere() if place[:level] == head], head


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_all_places_come_in_the_order_of_their_levels(acme: Client, limit: int) -> None:
    assert shown(acme.everything("/places", limit)) == everywhere()


def test_half_a_component_finds_nothing(acme: Client) -> None:
    for head in (("jap",), ("japan", "kant"), ("japan", "kanto", "toky"), ("JAPAN",), ("japan ",)):
        assert acme.everything(f"/places?under={under(*head)}") == []


def test_without_special_characters_nothing_need_be_encoded(acme: Client) -> None:
    found = shown(acme.everything("/places?under=japan/kanto"))
    assert found == [place for place in everywhere() if place[:2] == ("japan", "kanto")]
    assert len(acme.everything("/places?under=japan/kanto/tokyo")) == 2


def test_a_slash_is_written_in_a_query(acme: Client) -> None:
    assert acme.good("GET", query_of(SLASHED))["population"] == 3
    assert acme.good("PATCH", query_of(SLASHED), {"population": 4})["version"] == 2
    assert shown(acme.everything("/places?under=n%252Fa/a%252Fb")) == [SLASHED]
    assert shown(acme.everything("/places?under=n%252Fa%2Fa%252Fb/%252F/x%25252Fy")) == [SLASHED]
    gone = ("gone/1", "r", "s", "c")
    acme.good("PUT", query_of(gone), {})
    assert acme("DELETE", query_of(gone)).status == 204
    assert acme("GET", query_of(gone)).status == 404


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("/", "empty"),
        ("japan/", "empty"),
        ("japan//tokyo", "empty"),
        ("/japan", "empty"),
        ("japan/a/b/c/d", "at most"),
        ("100%25", "percent"),
        ("japan/%25zz", "percent"),
        ("japan/%25ff", "UTF-8"),
        (f"japan/{'x' * 201}", "200"),
    ],
)
def test_what_no_hierarchy_begins_with(acme: Client, text: str, said: str) -> None:
    answer = acme("GET", f"/places?under={text}")
    assert answer.status == 422, answer.text
    assert said in answer.text
    assert answer.fields <= {"under", "region"}


def test_a_cursor_is_of_one_level(acme: Client) -> None:
    page = acme.good("GET", "/places?under=japan/kanto&limit=1")
    for other in ("/places?under=japan", "/places?under=japan/kantoku", "/places"):
        sign = "&" if "?" in other else "?"
        assert acme("GET", f"{other}{sign}cursor={page['cursor']}").status == 400


def test_another_tenant_has_places_of_its_own(globex: Client) -> None:
    assert [each["note"] for each in globex.everything("/places")] == ["theirs"]
    assert globex.everything("/places?under=japan!") == []


def test_a_place_is_replaced_changed_and_removed(acme: Client) -> None:
    there = path_of(("z", "z", "z", "z"))
    assert acme("PUT", there, {"population": 1}).status == 201
    assert acme("PUT", there, {"population": 2}, if_match='"7"').status == 412
    assert acme("PUT", there, {"population": 2}, if_none_match="*").status == 412
    assert acme("PUT", there, {"population": 2}, if_match='"1"').status == 200
    assert acme.good("PATCH", there, {"note": "n"})["population"] == 2
    assert acme("PUT", there, {"city": "other"}).status == 422
    assert acme("DELETE", there).status == 204
    assert acme("DELETE", there).status == 404


def test_names_that_make_too_long_a_key(acme: Client) -> None:
    assert acme("PUT", path_of(("c", "r", "s", "x" * 201)), {}).fields == {"city"}
    answer = acme("PUT", path_of(("語" * 200,) * 4), {})
    assert (answer.status, "1024" in answer.text) == (422, True)
