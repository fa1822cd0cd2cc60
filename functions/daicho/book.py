"""The Book: one tenant's items and figures; what domains read and write through.

A declaration that is called is a question (`daicho.questions`), and the Book answers it. Every key
starts with the Book's tenant, so nothing that a caller says reaches another's data.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from daicho import keys, plan
from daicho.asking import fitting, part_texts
from daicho.clock import utc_now
from daicho.cursor import Binding, Position
from daicho.entity import Entity
from daicho.errors import Invalid, NotFound
from daicho.figures import Figures, Group
from daicho.images import Image
from daicho.lists import Lists
from daicho.places import Places, described
from daicho.plan import Ledger
from daicho.questions import E, Figure, Many, One, Ranking, Score
from daicho.reading import Reader
from daicho.table import Table
from daicho.writers import Writer
from daicho.writing import expired, item_of

MOST_AT_ONCE = 100


@dataclass(frozen=True)
class Page(Generic[E]):
    """Items in order, and the cursor that goes on behind them: None only at the end.

    A page may come short, or empty, and still have a cursor: what one page reads is bounded.
    """

    items: list[E]
    cursor: str | None


@dataclass(frozen=True)
class Chart:
    """Scores from the highest, and the cursor that goes on behind them: None only at the end."""

    items: list[Score]
    cursor: str | None


class Book:
    """One tenant's part of the table. Make one for each request: it remembers what it has read."""

    def __init__(
        self,
        table: Table,
        ledger: Ledger,
        tenant: str,
        *,
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self.tenant = tenant
        self._table, self._ledger, self._clock = table, ledger, clock
        self._places = Places(table, ledger, tenant, self._now)
        self._lists = Lists(self._places, ledger, tenant)
        self._writer = Writer(table, ledger, tenant, self._places, clock)
        self._figures = Figures(table)

    def find(self, one: One[E], *, consistent: bool = True) -> E | None:
        """One item, or None if there is none or it has expired."""
        image = self._read(one, consistent=consistent)
        return None if image is None else item_of(one.entity, image)

    def get(self, one: One[E]) -> E:
        """One item.

        Raises:
            NotFound: there is none, or it has expired.
        """
        found = self.find(one)
        if found is None:
            raise NotFound(f"no {described(one)}")
        return found

    def page(self, *many: Many[E], limit: int = MOST_AT_ONCE, cursor: str | None = None) -> Page[E]:
        """A page of one list, or of several lists of one entity merged in order, each item once.

        A partition and an edge's ends come by sort key; searches and listings newest first, or by
        the listing's order, highest first.

        Raises:
            BadCursor: a cursor of another question or tenant.
            Invalid: a limit that is not 1 to 100, or a value that its field does not take.
        """
        _check_limit(limit)
        asked = self._lists.asked(many)
        binding = Binding(self.tenant, asked.question)
        start = binding.read(cursor)
        reader = Reader(self._table, self._ledger, asked.entity.__name__, self._now())
        if asked.direct:
            images, end = reader.direct(asked.direct, start, limit)
        else:
            images, end = reader.postings(asked.postings, start, limit)
        return Page([item_of(many[0].entity, image) for image in images], binding.write(end))

    def create(self, item: E) -> E:
        """Store a new item.

        What has expired and is not deleted yet is as good as absent, unless the entity is
        archived: then the key is free when the archive has the expired item, which would be lost.

        Raises:
            Conflict: an item of that key stands there.
            ReferenceNotFound: a copied field's item does not exist.
            Invalid: the item cannot be stored, or nothing could be derived from it.
        """
        return self._writer.create(item)

    def put(self, item: E, *, if_match: int | None = None, if_none_match: bool = False) -> E:
        """Create or replace an item, in one write that reads nothing before.

        A replaced item keeps what is set once: its creation, expiry, frozen and copied fields. It
        is derived from them too, so the write holds only where they are as they were checked; a
        second write follows where an item with others stood there.

        Raises:
            PreconditionFailed: not of version ``if_match``, or not any more, because the SDK asked
                again when an answer was lost; or, under ``if_none_match``, there.
            Conflict: an expired item waits there for the archive (see `create`).
            ReferenceNotFound: a copied field's item does not exist.
            Invalid: the item cannot be stored, or nothing could be derived from it.
        """
        return self._writer.put(item, if_match=if_match, if_none_match=if_none_match)

    def change(self, one: One[E], changes: Mapping[str, Any], *, if_match: int | None = None) -> E:
        """Change some fields of an item.

        The item is read first, since what results must be derivable as a whole, and written only
        if nobody was faster; without ``if_match`` a lost race is run again.

        Raises:
            NotFound: there is none, or it has expired.
            PreconditionFailed: not of version ``if_match``.
            Conflict: others were faster, again and again.
            Invalid: an unknown field, a wrong value, a key field or one that is set only once.
        """
        return self._writer.change(one, changes, if_match=if_match)

    def delete(self, one: One[E], *, if_match: int | None = None) -> None:
        """Remove an item.

        Raises:
            NotFound: there is none, or it has expired.
            PreconditionFailed: not of version ``if_match``.
        """
        self._writer.delete(one, if_match=if_match)

    def read(self, figure: Figure, *, live: bool = False, ranked: bool = False) -> Score:
        """A group's tally, as rolled up last; or ``live``, all that the stream has counted.

        ``ranked``: with its rank, which is None for zero items and where it is ``beyond`` 10,000.
        """
        group = self._group(figure.entity, figure.aggregate, figure.within)
        by = part_texts(figure.entity, group.plan, group.aggregate.by, figure.by)
        parts = (*group.aggregate.within, *group.aggregate.by)
        fitting(_last(parts, figure.aggregate), group.tally(by), keys.check_partition)
        return self._figures.score(group, by, live=live, ranked=ranked and group.aggregate.ranked)

    def top(
        self,
        ranking: Ranking,
        *,
        limit: int = MOST_AT_ONCE,
        cursor: str | None = None,
        live: bool = False,
    ) -> Chart:
        """The groups of a ranking, highest first, ties by id.

        ``live`` sums up to 100 members as they are; one that was never rolled up is not among
        them yet, so who knows the members had better `read` each of them live.

        Raises:
            BadCursor: a cursor of another question or tenant.
            Invalid: a limit that is not 1 to 100, or ``live`` for more than 100 members.
        """
        _check_limit(limit)
        group = self._group(ranking.entity, ranking.aggregate, ranking.within)
        name = _last(group.aggregate.within, ranking.aggregate)
        partitions = [fitting(name, each, keys.check_partition) for each in group.rankings]
        binding = Binding(self.tenant, ("live" if live else "top", partitions[0]))
        start: Position | None = binding.read(cursor)
        read = self._figures.live if live else self._figures.top
        scores, end = read(group, start, limit)
        return Chart(scores, binding.write(end))

    def _read(self, one: One[E], *, consistent: bool) -> Image | None:
        key = self._places.key(one)
        image = None if key is None else self._table.get(key, consistent=consistent)
        if image is None or expired(image, self._now()):
            return None
        if consistent:
            self._places.remember(one.entity, image)
        return image

    def _group(self, entity: type[Entity], name: str, within: Sequence[Any]) -> Group:
        current = self._ledger.current(entity.__name__).plan
        aggregate: plan.AggregatePlan = next(a for a in current.aggregates if a.name == name)
        texts = part_texts(entity, current, aggregate.within, tuple(within))
        return Group(self.tenant, current, aggregate, texts)

    def _now(self) -> int:
        return int(self._clock().timestamp())


def _last(parts: Sequence[plan.Part], otherwise: str) -> str:
    """The field that a key which is too long is blamed on."""
    return parts[-1].field if parts else otherwise


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MOST_AT_ONCE:
        raise Invalid(f"a limit is from 1 to {MOST_AT_ONCE}", field="limit")
