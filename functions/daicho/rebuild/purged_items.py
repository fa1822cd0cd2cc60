"""Which items of the table belong to instances: rows, tallies, reservations, markers. Pure.

An instance's keys name it: its entity, its declaration and its ``since``. No base item has such a
key. What belongs to another instance never matches, also if its name begins alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from daicho.rebuild.kept_amounts import MARKERS, render_marker_partition
from daicho.storage import keys
from daicho.storage.attributes import AttributeValue, Image, measure_image
from daicho.storage.capacity import WRITE_UNIT_BYTES
from daicho.storage.requests import Scan
from daicho.stream.recount_list import LIST, Recount

ITEMS_PER_PAGE = 1_000
"""Items that a page reads at most. They are read again after an interruption."""


def select_items_of(instances: Mapping[str, Iterable[str]], *, consistent: bool) -> Scan:
    """A scan of the whole table that returns the items of instances, and maybe a few others.

    ``instances``: by entity, as text: ``revenue@2``. `is_item_of` decides about each item.
    """
    values: dict[str, AttributeValue] = {":recount": {"S": LIST}}
    terms = []
    flat = [(entity, each) for entity, some in sorted(instances.items()) for each in sorted(some)]
    for place, (entity, instance) in enumerate(flat):
        name, since = parse_instance(instance)
        # Without the sign before it, it is in the keys of tallies and in those of reservations.
        derived, tally = keys.render(f"~{entity}"), keys.render(f"{entity}.{name}", since)
        values[f":d{place}"] = {"S": f"{keys.DELIMITER}{derived}{keys.DELIMITER}"}
        values[f":s{place}"] = {"S": keys.render(name, since)}
        values[f":t{place}"] = {"S": tally}
        values[f":m{place}"] = {"S": render_marker_partition(entity, instance)}
        terms += [
            f"contains(PK, :d{place}) AND begins_with(SK, :s{place})",
            f"contains(PK, :t{place})",
            f"PK = :recount AND contains(#tally, :t{place})",
            f"PK = :m{place}",
        ]
    return Scan(
        limit=ITEMS_PER_PAGE,
        consistent=consistent,
        filter=" OR ".join(f"({term})" for term in terms),
        names={"#tally": "tally"},
        values=values,
    )


def is_item_of(instances: Mapping[str, Iterable[str]], image: Image) -> bool:
    """Whether an item belongs to one of these instances, and to nothing else."""
    if "type" in image:  # a base item: never
        return False
    pk = image["PK"]["S"]
    if pk == LIST:
        pk = Recount.from_item(image).tally
    tenant, owner, *parts = [*keys.parse(pk), "", ""]
    if not tenant:
        return owner == MARKERS and parts[1] in instances.get(parts[0], ())
    if owner.startswith("~"):
        name, since, *_ = [*keys.parse(image["SK"]["S"]), ""]
        return f"{name}@{since}" in instances.get(owner.removeprefix("~"), ())
    return any(
        (owner[:1] in "+=" and owner[1:] == f"{entity}.{name}" and parts[0] == since)
        for entity, some in instances.items()
        for name, since in map(parse_instance, some)
    )


def parse_instance(instance: str) -> tuple[str, str]:
    """The name and the ``since`` of an instance as text."""
    name, _, since = instance.rpartition("@")
    return name, since


def estimate_units(image: Image) -> int:
    """Write units of the deletion of an item: in the table, and in each index that it is in."""
    indexes = sum(f"GSI{number}PK" in image for number in (1, 2, 3))
    return math.ceil(measure_image(image) / WRITE_UNIT_BYTES) + indexes
