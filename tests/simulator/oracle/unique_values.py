"""Compares reservations with a plain recomputation from the items: is every value unique?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from daicho.layout.base_item import is_expired
from daicho.layout.reservations import OWNER, SIGN, Reservations, build_reservations, render_owner
from daicho.plan import Ledger
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key


@dataclass
class UniqueValues:
    """The result of a comparison.

    ``lacking``: two live items with one value, or a live item without its reservation. ``left``:
    reservations that a live item owns and should not; code that does not know of them leaves some.
    ``unowned``: reservations that have expired, or whose owner does not exist or has expired. The
    next writer that meets one of ``left`` or ``unowned`` takes it over.
    """

    items: int = 0
    lacking: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    unowned: list[ItemKey] = field(default_factory=list)

    @property
    def differences(self) -> list[str]:
        """What code that knows of the reservations never causes."""
        return [*self.lacking, *self.left]


def is_reservation(image: Image) -> bool:
    """Whether an item of the table is a reservation."""
    parts = keys.parse(image["PK"]["S"])
    return len(parts) > 1 and parts[1].startswith(SIGN) and "type" not in image


def compare_unique_values(images: Iterable[Image], ledger: Ledger, now: int) -> UniqueValues:
    """Compare the reservations in a table with its items. ``now``: in epoch seconds."""
    compared = UniqueValues()
    reserved: dict[ItemKey, Image] = {}
    live: dict[str, Image] = {}
    expected: dict[ItemKey, Image] = {}
    for image in images:
        if is_reservation(image):
            reserved[get_key(image)] = image
        elif "type" in image and not is_expired(image, now):
            live[render_owner(get_key(image))["S"]] = image
    for image in live.values():
        for key, wanted in _list_expected(image, ledger).items():
            compared.items += 1
            if key in expected:
                compared.lacking.append(f"{key.pk}: two items have the value")
            expected[key] = wanted
    for key, should_be in expected.items():
        if reserved.get(key) != should_be:
            compared.lacking.append(f"{key.pk}: is {reserved.get(key)}, and should be {should_be}")
    for key, reservation in reserved.items():
        if key in expected:
            continue
        # DynamoDB may delete an expired item first. Then nobody knows its value, if it is created
        # again with another one.
        if reservation[OWNER]["S"] in live and not is_expired(reservation, now):
            compared.left.append(f"{key.pk}: its owner does not have the value")
        else:
            compared.unowned.append(key)
    return compared


def _list_expected(image: Image, ledger: Ledger) -> Reservations:
    """The reservations of an item by the plan of its generation."""
    entity, generation = image["type"]["S"], attributes.get_integer(image, "gen") or 0
    if entity not in ledger.entities:
        return {}
    return build_reservations(ledger.find_plan(entity, generation), image)
