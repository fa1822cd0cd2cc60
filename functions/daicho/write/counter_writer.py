"""Fast counters for a `Book`: votes added, and the slots summed up as they stand."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from daicho.declare.entity import Entity
from daicho.declare.results import Counted
from daicho.derive.contributions import Amount
from daicho.errors import Invalid, NotFound, UnansweredError
from daicho.items.arguments import fitting
from daicho.plan import CounterPlan
from daicho.query.key_resolver import Places
from daicho.query.totals import MOST_LIVE, Group
from daicho.storage import keys
from daicho.storage.attributes import integer
from daicho.storage.table import Table
from daicho.tally import counter_items, counter_slots

HEAD_SECONDS = 10.0
"""How old the number of slots may be that a vote is drawn over: older ones are among the newer."""


@dataclass(frozen=True)
class Adding:
    """What adding takes: a table whose client sends once, and is silent when it got no answer.

    An ``ADD`` that the SDK repeats after a lost answer counts twice.
    """

    once: Table
    dirty_shards: int = 16
    random: Callable[[], float] = random.random


@dataclass(frozen=True)
class Counters:
    """One tenant's fast counters."""

    table: Table
    places: Places
    adding: Adding | None
    clock: Callable[[], dt.datetime]

    def add(self, entity: type[Entity], group: Group, by: tuple[str, ...]) -> Counted:
        """See `Book.add`: ``unknown`` is of the vote alone, not of what is read before."""
        counter = _counter(group)
        if self.adding is None:
            raise TypeError(f"this Book was made without Adding: it cannot add to {counter.name}")
        parts, name = (*counter.within, *counter.by), _name(group)
        for part, text in zip(parts, (*group.within, *by), strict=True):
            if not text:
                raise Invalid("must not be empty", field=part.field)
        blamed = parts[-1].field if parts else counter.name
        fitting(blamed, name.slot(counter_items.MOST_SLOTS), keys.check_partition)
        fitting(blamed, keys.render("0" * 29, *by), keys.check_sort)
        head = self.places.memory.get(
            name.head, HEAD_SECONDS, lambda: self.table.get(name.head), absence=True
        )
        slots = counter_items.slots_said(head) or self._at_first(entity, group)
        try:
            counter_slots.add(
                self.adding.once,
                name,
                by,
                slots=slots,
                dirty_shards=self.adding.dirty_shards,
                now=self.clock(),
                random=self.adding.random,
            )
        except UnansweredError:
            return Counted("unknown")
        return Counted("yes")

    def live(self, entity: type[Entity], group: Group) -> dict[tuple[str, ...], Amount]:
        """All groups, their slots summed up now: every vote that was answered before is in it.

        Raises:
            Invalid: over 100 groups.
        """
        name = _name(group)
        head = self.table.get(name.head, consistent=True)
        known = counter_items.slots_said(head) or self._at_first(entity, group)
        votes = counter_slots.read(self.table, name, 0, known).votes
        if len(votes) > MOST_LIVE:
            raise Invalid(f"only up to {MOST_LIVE} are counted live", field="live")
        return {by: Amount(number, Decimal(number)) for by, number in votes.items()}

    def _at_first(self, entity: type[Entity], group: Group) -> int:
        """The slots that a counter begins with."""
        counter = _counter(group)
        if isinstance(counter.slots, int):
            return counter.slots
        spec = entity.fields_[counter.slots]
        ids = zip(counter.within, group.within, strict=True)
        id = next(text for part, text in ids if part.field == spec.target.name)
        image = self.places.reference(spec, {"S": id})
        number = None if image is None or spec.source is None else integer(image, spec.source.name)
        if not number:
            raise NotFound(f"no {spec.target.target.__name__} {id}")
        return number


def _counter(group: Group) -> CounterPlan:
    if group.counter is None:
        raise TypeError(
            f"{group.plan.name}.{group.aggregate.name} is no Counter: nothing adds to it"
        )
    return group.counter


def _name(group: Group) -> counter_items.CounterName:
    tally = group.aggregate
    return counter_items.CounterName(
        group.tenant, group.plan.name, tally.name, tally.since, group.within
    )
