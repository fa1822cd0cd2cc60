"""Fast counters for a `Book`: adds votes, and sums up the current slots."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal

from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.declare.results import VoteResult
from daicho.derive.contributions import Amount
from daicho.errors import Invalid, UnansweredError, UnavailableError
from daicho.items.arguments import check_key_length
from daicho.plan import CounterPlan
from daicho.query.key_resolver import KeyResolver, build_not_found
from daicho.query.totals import MAX_LIVE_GROUPS, TallyGroup
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import get_integer
from daicho.storage.table import Table
from daicho.tally import counter_items, counter_slots

HEAD_CACHE_S = 10.0
"""The maximum age of the slot count for a vote: the slots of an older count still exist later."""
REFUSED_HEAD_CACHE_S = 1.0
"""The same for a vote that slots refused."""


@dataclass(frozen=True)
class CounterSettings:
    """What adding needs: a table whose client sends a request once, even if no answer arrives.

    An ``ADD`` that the SDK repeats after a lost answer counts twice.
    """

    once: Table
    dirty_shards: int = 16
    random: Callable[[], float] = random.random


@dataclass(frozen=True)
class CounterWriter:
    """The fast counters of a declaration within some values."""

    table: Table
    key_resolver: KeyResolver
    settings: CounterSettings | None
    entity: type[Entity]
    group: TallyGroup

    @property
    def name(self) -> counter_items.CounterName:
        """The parts of its keys."""
        group, tally = self.group, self.group.aggregate
        return counter_items.CounterName(
            group.tenant, group.plan.name, tally.name, tally.since, group.within
        )

    def add_vote(self, by: tuple[str, ...]) -> VoteResult:
        """See `Book.add`. ``unknown`` refers to the vote alone, not to the reads before it."""
        counter, name = _get_counter(self.group), self.name
        if self.settings is None:
            raise TypeError(f"this Book has no counter_settings: it cannot add to {counter.name}")
        parts = (*counter.within, *counter.by)
        for part, text in zip(parts, (*self.group.within, *by), strict=True):
            if not text:
                raise Invalid("must not be empty", field=part.field)
        field = parts[-1].field if parts else counter.name
        check_key_length(field, name.render_slot_key(counter_items.MAX_SLOTS), keys.check_partition)
        check_key_length(field, keys.render("0" * 29, *by), keys.check_sort)
        head = self.key_resolver.item_cache.get(
            name.head_key, HEAD_CACHE_S, lambda: self.table.get(name.head_key), absence=True
        )
        slots = counter_items.read_slot_count(head) or self._find_first_slots()
        try:
            counter_slots.add(
                self.settings.once,
                name,
                by,
                slots=slots,
                dirty_shards=self.settings.dirty_shards,
                now=self.key_resolver.clock(),
                random=self.settings.random,
                open_more=self._open_more,
            )
        except UnansweredError:
            return VoteResult("unknown")
        return VoteResult("yes")

    def read_live(self) -> dict[tuple[str, ...], Amount] | None:
        """All groups, with their slots summed up now: all votes answered before are included.

        None if there are more slots than the request may read.

        Raises:
            Invalid: over 100 groups.
        """
        head = self.table.get(self.name.head_key, consistent=True)
        slots = counter_items.read_slot_count(head) or self._find_first_slots()
        budget = self.table.budget
        most = int(budget.unread)
        reading = budget.try_live(
            lambda: counter_slots.read(self.table, self.name, 0, slots, most=most), slots
        )
        if reading is None or reading.slots > most:
            return None
        votes = reading.votes
        if len(votes) > MAX_LIVE_GROUPS:
            raise Invalid(f"only up to {MAX_LIVE_GROUPS} are counted live", field="live")
        return {by: Amount(number, Decimal(number)) for by, number in votes.items()}

    def _open_more(self, known: int, refused: int) -> int:
        """More slots, up to the declared number; gives how many there are now."""
        declared = self._find_declared_slots()
        if known >= declared:
            return known
        cache, name = self.key_resolver.item_cache, self.name
        try:
            head = cache.get(
                name.head_key,
                REFUSED_HEAD_CACHE_S,
                lambda: self.table.get(name.head_key, consistent=True),
            )
            opened = counter_slots.open_more(
                self.table,
                name,
                head,
                known=known,
                refused=refused,
                declared=declared,
                now=self.key_resolver.clock(),
            )
        except UnavailableError:
            return known  # the vote is sent to another slot all the same
        if opened > counter_items.read_slot_count(head):
            cache.forget(name.head_key)
        return opened

    def _find_first_slots(self) -> int:
        """The number of slots that a counter begins with."""
        return min(self._find_declared_slots(), counter_items.FIRST_SLOTS)

    def _find_declared_slots(self) -> int:
        """The number of slots that writers may open."""
        counter = _get_counter(self.group)
        if isinstance(counter.slots, int):
            return counter.slots
        spec = self.entity.fields_[counter.slots]
        ids = zip(counter.within, self.group.within, strict=True)
        id = next(text for part, text in ids if part.field == spec.target.name)
        image = self.key_resolver.find_referenced(spec, {"S": id})
        number = (
            None if image is None or spec.source is None else get_integer(image, spec.source.name)
        )
        if not number:
            raise build_not_found(ItemRef(spec.target.target, (id,)))
        return number


def _get_counter(group: TallyGroup) -> CounterPlan:
    if group.counter is None:
        raise TypeError(
            f"{group.plan.name}.{group.aggregate.name} is no Counter: nothing adds to it"
        )
    return group.counter
