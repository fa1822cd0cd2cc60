"""The recount list: tallies whose correct value can no longer be known.

Each tally has an item: ``PK #recount``, ``SK`` the tally, with the numbers of the records that
could not be decided. A recount is a rebuild into fresh slots (EXACTNESS rule 17).
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import QueriesItems
from daicho.storage.requests import Query, Update

LIST = keys.render("", "recount")
MAX_RECOUNTS = 500
"""The limit of tallies in an answer: that of a Lambda function has at most 6 MB."""
MAX_NUMBERS = 100
"""Numbers that one tally's item names: more of them would help nobody."""


@dataclass(frozen=True)
class Recount:
    """A tally that must be recounted, since when, and because of which records."""

    tally: str
    numbers: tuple[str, ...]
    since: str

    @classmethod
    def from_item(cls, image: Image) -> Recount:
        """Read an item of the list."""
        numbers = tuple(sorted(image.get("numbers", {}).get("SS", ())))
        return cls(image["tally"]["S"], numbers, attributes.get_text(image, "since") or "")

    def to_json(self) -> dict[str, Any]:
        """The tally as a report shows it."""
        return {"tally": self.tally, "numbers": list(self.numbers), "since": self.since}


def list_recounts(store: QueriesItems) -> Iterator[Recount]:
    """The tallies on the list.

    Raises:
        StoreError: the table does not answer.
    """
    for page in store.query_pages(Query(LIST, consistent=True)):
        yield from map(Recount.from_item, page.items)


def describe_recounts(store: QueriesItems) -> list[dict[str, Any]]:
    """The first tallies on the list, as reports show them; raises as `list_recounts`."""
    return [recount.to_json() for recount in islice(list_recounts(store), MAX_RECOUNTS)]


def list_entity_tallies(tenant: str, entity: str, ledger: Ledger) -> tuple[str, ...]:
    """What the list has if all tallies of an entity of a tenant are unknown (rule 56).

    These are names without a group, one for each aggregate that any generation derives.
    """
    generations = ledger.entities.get(entity, ())
    plans = [ledger.find_enabled_plan(entity, each.number) for each in generations]
    instances = {(each.name, each.since) for plan in plans for each in plan.derived_aggregates}
    return tuple(
        keys.render(tenant, f"+{entity}.{name}", str(since)) for name, since in sorted(instances)
    )


def build_recount_key(tally: str) -> ItemKey:
    """The tally's item. A tally's name may be longer than a sort key: then its hash ends it."""
    try:
        return ItemKey(LIST, keys.check_sort(tally))
    except keys.KeyTooLongError:
        digest = hashlib.blake2b(tally.encode(), digest_size=16).hexdigest()
        return ItemKey(LIST, f"{tally[:200]}{keys.DELIMITER}{digest}")


def build_recount_mark(tally: str, seq: str, existing: Image | None, now: dt.datetime) -> Update:
    """Put a tally on the list because of the record ``seq``; twice is once.

    ``existing``: its item as it was read, which shows whether there is room for another number.
    """
    names = {"#tally": "tally", "#since": "since"}
    values = {":tally": {"S": tally}, ":now": {"S": keys.render_instant(now)}}
    update = "SET #tally = :tally, #since = if_not_exists(#since, :now)"
    if existing is not None and len(Recount.from_item(existing).numbers) >= MAX_NUMBERS:
        return Update(build_recount_key(tally), update, None, names, values)
    return Update(
        build_recount_key(tally),
        f"{update} ADD #numbers :numbers",
        None,
        {**names, "#numbers": "numbers"},
        {**values, ":numbers": {"SS": [seq]}},
    )
