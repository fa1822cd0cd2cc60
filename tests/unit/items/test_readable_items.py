"""Pages leave out exactly the images that are not at the keys of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from daicho import Domain, Edge, Entity, Key
from daicho import field as declared
from daicho.declare.registry import Daicho
from daicho.items import readable_items
from daicho.items.readable_items import read_each
from daicho.layout.base_item import DAMAGE
from daicho.plan import Ledger
from daicho.storage.attributes import Image
from daicho.testing import MemoryDeployment


class Track(Entity):
    """Its partition and its sort key have texts."""

    album: str = declared()
    id: str = declared()

    key = Key(album, id)


class Seat(Entity):
    """Its key has a number."""

    row: int = declared()

    key = Key(row, partition=0)


class Visit(Entity):
    """An edge."""

    guest: str = declared()
    house: str = declared()

    key = Edge(guest, house)


PAGES: Mapping[type[Entity], list[dict[str, Any]]] = {
    Track: [{"album": "a", "id": id} for id in ("1", "2 $", "#3", "ü")],
    Seat: [{"row": row} for row in (1, 20, -3)],
    Visit: [{"guest": "g", "house": house} for house in ("x", "y#z")],
}
DAMAGE_OF: Mapping[str, Callable[[Image], Image]] = {
    "another sort key": lambda image: {**image, "SK": {"S": f"{image['SK']['S']}0"}},
    "another partition": lambda image: {**image, "PK": {"S": f"{image['PK']['S']}#0"}},
    "another type": lambda image: {**image, "type": {"S": "Other"}},
    "no type": lambda image: {name: image[name] for name in image if name != "type"},
    "damage": lambda image: {**image, DAMAGE: {"S": "it is missing"}},
}
EDGE_DAMAGE: Mapping[str, Callable[[Image], Image]] = {
    "another list": lambda image: {**image, "GSI1PK": {"S": "t#Visit#w"}},
    "another order": lambda image: {**image, "GSI1SK": {"S": "w"}},
    "in no list": lambda image: {name: image[name] for name in image if name != "GSI1PK"},
}
CASES = [(entity, name, damage) for entity in PAGES for name, damage in DAMAGE_OF.items()]
CASES += [(Visit, *each) for each in EDGE_DAMAGE.items()]


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Daicho(Domain("pages", *PAGES)).append_generations(Ledger())


def read_images(ledger: Ledger, entity: type[Entity]) -> list[Image]:
    """A page as the Book writes its items."""
    deployment = MemoryDeployment(ledger)
    book = deployment.open_book("t")
    for values in PAGES[entity]:
        book.create(entity(**values))
    return [image for key, image in deployment._dynamodb.items if "type" in image]


@pytest.mark.parametrize("entity", PAGES)
def test_a_page_is_checked_at_once(
    ledger: Ledger, entity: type[Entity], monkeypatch: pytest.MonkeyPatch
) -> None:
    images = read_images(ledger, entity)
    monkeypatch.delattr(readable_items, "check_image")  # it takes ten times as long
    read = read_each(entity, ledger, images, dict)
    assert (len(read.images), read.unreadable) == (len(PAGES[entity]), [])


@pytest.mark.parametrize(("entity", "name", "damage"), CASES)
def test_one_damaged_image_is_left_out(
    ledger: Ledger, entity: type[Entity], name: str, damage: Callable[[Image], Image]
) -> None:
    images = read_images(ledger, entity)
    for place, image in enumerate(images):
        page = [*images[:place], damage(image), *images[place + 1 :]]
        read = read_each(entity, ledger, page, dict)
        assert [*read.images] == [*images[:place], *images[place + 1 :]]
        assert len(read.unreadable) == 1


def test_a_value_with_a_delimiter_is_not_taken_for_two(ledger: Ledger) -> None:
    """As texts alone, the key of its fields is the key that it has."""
    (image, *_) = read_images(ledger, Track)
    moved = {**image, "album": {"S": "a#b"}, "PK": {"S": "t#Track#a#b"}}
    assert len(read_each(Track, ledger, [moved], dict).unreadable) == 1
