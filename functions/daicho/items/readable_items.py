"""The items of a page: those that their entity can read, and those that a page leaves out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from daicho.declare.entity import Entity
from daicho.declare.results import UnreadableItem
from daicho.errors import UnreadableError
from daicho.items.mapper import UNREADABLE
from daicho.layout import item_keys
from daicho.layout.base_item import DAMAGE, NO_VALUE
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import EMPTY_SORT_KEY, Image, get_key
from daicho.storage.keys import render_scalar

T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadableItems(Generic[T]):
    """What was read of the images that can be read, these images, and the other items."""

    values: Sequence[T]
    images: Sequence[Image]
    unreadable: Sequence[UnreadableItem]


def read_each(
    entity: type[Entity], ledger: Ledger, images: Iterable[Image], read: Callable[[Image], T]
) -> ReadableItems[T]:
    """Read images one by one. One that cannot be read is logged, and left out.

    Something else than the library has written it, or a field migration fails.
    """
    values: list[T] = []
    readable: list[Image] = []
    unreadable: list[UnreadableItem] = []
    stored = list(images)
    are_placed = _are_placed(entity, ledger, stored)
    for image in stored:
        try:
            if not are_placed:
                check_image(entity, ledger, image)
            values.append(read(image))
        except UnreadableError as error:
            log_unreadable(image, error)
            unreadable.append(_describe(entity, ledger, image, error))
        else:
            readable.append(image)
    return ReadableItems(values, readable, unreadable)


def check_image(entity: type[Entity], ledger: Ledger, image: Image) -> None:
    """Check what an image states of itself besides the fields.

    Raises:
        UnreadableError: it takes the place of one that is damaged. Or it is at another key, or in
            another list of an edge, than its fields give; or it has another type.
    """
    name = entity.__name__
    if DAMAGE in image:
        raise UnreadableError(name, image[DAMAGE]["S"])
    if "PK" not in image or keys.parse(image["PK"]["S"])[1] != name:
        return  # a copy in an index row, or a version item
    if image.get("type") != {"S": name}:
        raise UnreadableError(
            name, "it is not the entity, so nothing is derived from the item", "type"
        )
    tenant, plan = keys.parse_first(image["PK"]["S"]), ledger.current_generation(name).plan
    try:
        key = item_keys.build_base_key(tenant, plan, image)
        edge = item_keys.build_inverted_key(tenant, plan, image) if plan.key.edge else None
    except UNREADABLE:
        return  # whoever reads the fields explains it
    stored = image.get("GSI1PK"), image.get("GSI1SK")
    is_edge = edge is None or stored == ({"S": edge.pk}, {"S": edge.sk})
    if key != get_key(image) or not is_edge:
        raise UnreadableError(name, "its keys are not those of its fields", plan.key.fields[0])


def _are_placed(entity: type[Entity], ledger: Ledger, images: Sequence[Image]) -> bool:
    """Whether obviously all images of a page pass `check_image`; if not, it decides of each.

    An attribute is compared for the whole page at once, which takes a tenth of the time.
    """
    name = entity.__name__
    if not images or name not in ledger.entities:
        return False
    plan = ledger.current_generation(name).plan
    if plan.key.shards is not None:
        return False
    split, count = len(plan.key.partition), len(images)
    try:
        heads = [keys.render(keys.parse_first(images[0]["PK"]["S"]), name)] * count
        columns = [
            _render_column(plan.fields.get(each, "str"), each, images) for each in plan.key.fields
        ]
        first, second = columns[:split], columns[split:]
        expected = {
            "PK": _join_columns([heads, *first]),
            "SK": _join_columns(second or [[EMPTY_SORT_KEY] * count]),
            "type": [name] * count,
        }
        if plan.key.edge:
            expected |= {
                "GSI1PK": _join_columns([heads, *second]),
                "GSI1SK": _join_columns(first),
            }
        is_same = all(
            [image[attribute]["S"] for image in images] == column
            for attribute, column in expected.items()
        )
    except (LookupError, TypeError, ValueError):
        return False
    return is_same and not any(DAMAGE in image for image in images)


def _render_column(kind: str, name: str, images: Sequence[Image]) -> list[str]:
    """The components of a key field of all images."""
    if kind == "int":
        return [render_scalar(int(image[name]["N"])) for image in images]
    column: list[str] = [image[name]["S"] for image in images]
    return list(map(keys.escape, column)) if keys.needs_escape("".join(column)) else column


def _join_columns(columns: Sequence[list[str]]) -> list[str]:
    """The keys of all images."""
    if len(columns) == 1:
        return columns[0]
    return list(map(keys.DELIMITER.join, zip(*columns, strict=True)))


def log_unreadable(image: Image, error: UnreadableError) -> None:
    """Log which item cannot be read, and why."""
    logger.error("an item cannot be read: %s: %s", get_key(image), error)


def _describe(
    entity: type[Entity], ledger: Ledger, image: Image, error: UnreadableError
) -> UnreadableItem:
    """The fields of its key are read from the key itself: as attributes they may be wrong too."""
    plan, key = ledger.current_generation(entity.__name__).plan, get_key(image)
    if keys.parse(key.pk)[1] != plan.name:  # a version, or a copy in an index row
        key = item_keys.parse_derived_partition(key.pk)
    partition = keys.parse(key.pk)[2:][: len(plan.key.partition)]  # without tenant, type and shard
    texts = (*partition, *keys.parse(key.sk)[: len(plan.key.sort)])
    named = {
        name: _render_part(image.get(name, NO_VALUE).get("N", ""), text)
        for name, text in zip(plan.key.fields, texts, strict=False)
    }
    return UnreadableItem(named, error.fault, error.field)


def _render_part(number: str, text: str) -> str:
    """A number as it is written, if the key has it; any other part as the key has it."""
    has_number = number.lstrip("-").isdecimal() and render_scalar(int(number)) == text
    return number if has_number else text
