"""All kinds of damage, inflicted at once on one shop, with what a verification has to find."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count

from daicho.storage.attributes import Image, ItemKey
from daicho.testing.stack_settings import ARCHIVE_BUCKET
from daicho.verify.faults import parse_owner
from daicho.verify.findings import Kind
from tests.support import inflicted_damage as damage
from tests.support.busy_shop import BusyShop
from tests.support.verified_shop import Customer, Memo, Sale, Trip

DAYS = 2
OF_TALLIES = {Kind.TALLY, Kind.TOTAL, Kind.TALLY_WITHOUT_ITEMS, Kind.RANKING, Kind.SLOT_NUMBER}
ENTITIES = {"Likes", "Memo", "Document"}
"""Those of which people decide something."""
Place = tuple[Kind, ItemKey]
Undo = Callable[[], None]


@dataclass
class Inflicted:
    """What was inflicted: where a finding has to be, where one may be, and how to undo the rest."""

    required: set[Place] = field(default_factory=set)
    possible: set[Place] = field(default_factory=set)
    undo: list[Undo] = field(default_factory=list)


def inflict(shop: BusyShop) -> Inflicted:
    """Fill a shop, and inflict all kinds of damage but that of claims."""
    inflicted = Inflicted()
    states = [f"state-{number}" for number, _ in enumerate(damage.OF_SUMS)]
    customers = [f"ranked-{number}" for number, _ in enumerate(damage.OF_RANKINGS)]
    visited = [f"place-{number}" for number, _ in enumerate(damage.OF_KEPT)]
    fill(shop, states, customers, visited)
    numbers = count(2)  # the first two customers are written all the time
    left_sections = (Kind.SECTION, damage.remove_document)
    for kind, harm in (*damage.OF_ROWS, *damage.REPAIRED, left_sections):
        inflicted.required.add((kind, harm(shop, next(numbers))))
    for kind, harm in damage.DECIDED:
        before = dict(shop.deployment._dynamodb.items)
        inflicted.required.add((kind, harm(shop, next(numbers))))
        inflicted.undo.append(make_undo(shop, before))
    sums = zip(damage.OF_SUMS, states, strict=True)
    for (kinds, spoil), group in (*sums, *zip(damage.OF_RANKINGS, customers, strict=True)):
        key = spoil(shop, group)
        places = {find_place(kind, key) for kind in kinds}
        # A total that is written meanwhile is right again, whatever its slots have.
        inflicted.required |= {each for each in places if each[0] is not Kind.TOTAL} or places
        inflicted.possible |= places
        if kinds not in ({Kind.TOTAL}, {Kind.RANKING}):
            shop.states += (group,)
    for spoil, place in zip(damage.OF_KEPT, visited, strict=True):
        key = spoil(shop, place)
        inflicted.required.add(find_place(Kind.TALLY, key))
        inflicted.possible.add(find_place(Kind.TOTAL, key))
    inflicted.required.add((Kind.ARCHIVE, break_archive(shop, inflicted.undo)))
    return inflicted


def fill(
    shop: BusyShop, states: Iterable[str], customers: Iterable[str], visited: Iterable[str]
) -> None:
    """Items of each entity, some expired; three of each state, of each customer, to each place."""
    shop.fill(40)
    for number in range(40):
        for text in ("second", "third"):
            shop.book.change(Memo.key(f"m{number}"), {"text": text})
    for customer in customers:
        shop.book.create(Customer(id=customer))
        for number in range(3):
            shop.book.create(Sale(id=f"{customer} {number}", customer=customer, state="sold"))
    for state in states:
        for number in range(3):
            shop.book.create(Sale(id=f"{state} {number}", customer="c0", state=state, amount=4))
    for place in visited:
        for _ in range(3):
            shop.book.create(Trip(place=place))
    shop.deployment.catch_up()  # the stream keeps a day
    shop.deployment.clock.advance(DAYS * 86_400)
    shop.deployment.expire_items()
    shop.deployment.catch_up()


def find_place(kind: Kind, key: ItemKey) -> Place:
    """Where a finding is. The items of a tally are one place."""
    return (kind, ItemKey(key.pk, "") if kind in OF_TALLIES else key)


def make_undo(shop: BusyShop, before: dict[ItemKey, Image]) -> Undo:
    """What writes the items of before again, as from a backup; rows follow from the stream."""
    now = dict(shop.deployment._dynamodb.items)
    written = [key for key in {*before, *now} if parse_owner(key)[1].strip("@/") in ENTITIES]
    changed = [key for key in written if before.get(key) != now.get(key)]

    def undo() -> None:
        for key in changed:
            if key in before:
                shop.table.batch_write([before[key]])
            else:
                shop.table.delete(key)

    return undo


def break_archive(shop: BusyShop, undo: list[Undo]) -> ItemKey:
    """Change a line of an object of the archive; returns what names it in a finding."""
    bucket = shop.deployment._buckets[ARCHIVE_BUCKET]
    name = next(each for each in sorted(bucket.stored) if each.startswith("entity=Visit"))
    stored = bucket.stored[name]
    broken = gzip.compress(gzip.decompress(stored.body).replace(b'"v1"', b'"v0"'))
    for body, at_once in ((broken, True), (stored.body, False)):

        def put(body: bytes = body) -> None:
            bucket.put_object(Key=name, Body=body, Metadata=stored.metadata)

        if at_once:
            put()
        else:
            undo.append(put)
    return ItemKey(name, "corrupt")
