"""Every id that can be created has an address that reaches it behind API Gateway.

The paths are live captures of an HTTP API of 10 July 2026: hotsock/voker on GitHub,
`vokerhttp/testdata/ingress-paths.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    copied,
    each,
    field,
    ref,
    refs,
    uid,
)
from tests.support.api_client import Client, as_the_gateway_decodes
from tests.support.catalogue_domains.products import domain
from tests.support.memory_served import serve_in_memory

CAPTURES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "events/paths.json").read_text(encoding="utf-8")
)
WRONG = ("who?", "?", "50%", "%", "a%41", "%2F", "%3F", "a%253Fb", "a/b", ".", "..", "a\ufffd")


class Maker(Entity):
    id: str = uid()
    name: str = field(default="none")

    key = Key(id)


class Car(Entity):
    id: str = uid()
    maker: str = ref(Maker)
    name: str = copied(maker, Maker.name)
    tags: set[str] = refs(Maker)

    key = Key(id)
    of_name = Listing(name)
    tagged = Listing(each(tags))
    count = Aggregate(Count(), name)


CARS = Domain("cars", Maker, Car)
CARS.resource("/makers/{id}", Maker, "POST GET PATCH")
CARS.resource("/cars/{id}", Car, "POST GET PATCH")
CARS.mount("/names/{name}/cars", Car.of_name)
CARS.mount("/names/{name}/count", Car.count)
CARS.mount("/tags/{tags}/cars", Car.tagged)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture["sent"])
def test_a_captured_path_reaches_its_own_item_or_none(
    client: Client, capture: dict[str, Any]
) -> None:
    """``capture["path"]`` is the `rawPath` of an event; each item is named by what it received."""
    assert as_the_gateway_decodes(capture["sent"]) == capture["path"]
    sent = capture["sent"].replace("/capture/", "/products/")
    if capture["path"] is None:
        return
    id = capture["path"].removeprefix("/capture/")
    for method in ("GET", "PATCH", "DELETE", "PUT"):
        answer = client(method, sent, {"name": "n"} if method in ("PUT", "PATCH") else None)
        if set(id) & set("?%/"):
            assert answer.status in (404, 422), answer.text
        elif method != "PUT":
            assert answer.status == 404
        else:
            assert answer.status == 201
            assert answer.json["id"] == id
            assert client.good("GET", answer.headers["Location"])["id"] == id
            client.good("DELETE", answer.headers["Location"])


@pytest.mark.parametrize("id", WRONG)
def test_an_id_without_an_address_cannot_be_created(client: Client, id: str) -> None:
    answer = client("POST", "/products", {"id": id})
    assert (answer.status, answer.fields) == (422, {"id"}), answer.text
    assert "part of a path" in answer.text
    client.good("PUT", "/sheets/s", {"sections": {}})
    answer = client("PUT", "/sheets/s", {"sections": {"fine": 1, id: 2}})
    assert (answer.status, answer.fields) == (422, {"sections"}), answer.text
    answer = client("PUT", "/folders/f", {"lines": {id: {"price": 1}}})
    assert (answer.status, answer.fields) == (422, {"lines"}), answer.text
    assert client.good("GET", "/sheets/s")["sections"] == {}


@pytest.mark.parametrize("value", ["who?", "50%", "a/b"])
def test_a_copied_value_and_a_member_have_an_address_too(value: str) -> None:
    client = serve_in_memory(CARS).client
    answer = client("POST", "/makers", {"name": value})
    assert (answer.status, answer.fields) == (422, {"name"})
    maker = client.good("POST", "/makers", {"name": "Café #1"})["id"]
    answer = client("PATCH", f"/makers/{maker}", {"name": value})
    assert (answer.status, answer.fields) == (422, {"name"})
    answer = client("POST", "/cars", {"maker": maker, "tags": ["fine", value]})
    assert (answer.status, answer.fields) == (422, {"tags"})
    car = client.good("POST", "/cars", {"maker": maker, "tags": ["fine"]})
    assert car["name"] == "Café #1"


ONE = serve_in_memory(domain)


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        st.text(min_size=1, max_size=12),
        st.text("?%/.#&=+;:@ a2Ff\\\u00e9", min_size=1, max_size=6),
    )
)
@example("who")
@example("#?%")
@example("a+b c")
def test_an_id_is_refused_or_its_address_reaches_it(id: str) -> None:
    client = ONE.client
    created = client("POST", "/products", {"id": id})
    if created.status >= 400:
        assert created.status in (400, 422)
        return
    address = created.headers["Location"]
    assert address == f"/products/{quote(id, safe='')}"
    assert client.good("GET", address)["id"] == id
    assert client.good("PATCH", address, {"name": "x"})["id"] == id
    assert client("DELETE", address).status == 204
