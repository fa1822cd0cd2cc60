"""The capacity units of a period: from declarations, and from a description of its traffic. Pure.

No figure is measured. Each follows from the example items: their images, and what
`daicho.derive` derives from them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from daicho.derive.events import list_events as list_published
from daicho.plan import AggregatePlan, EntityPlan, Generation, Ledger
from daicho.storage.attributes import Image, measure_image
from daicho_cli.cost import counting, examples, footprint, reads
from daicho_cli.cost.counting import StreamLoad
from daicho_cli.cost.examples import ItemEvent, list_events
from daicho_cli.cost.reads import EntityReads
from daicho_cli.cost.traffic import EntityTraffic, FigureTraffic, Traffic, TrafficError
from daicho_cli.cost.units import Units, measure_read, sum_units
from daicho_cli.cost.writes import (
    RECORD,
    EntityShape,
    Touches,
    count_touches,
    estimate_item_write,
    estimate_row_writes,
    estimate_section_change,
    list_groups,
)

Work = Literal["items", "rows", "slots", "rollups", "announcements", "times", "events", "reads"]
"""What units are used for: base items with all that their requests read and write; index rows;
slots; totals and marks; the announcements of batches; the times of figures; the records of events
that subscribers handle; reads of users."""

ITEM = "item"
STACK = "stack"
"""The name of what belongs to no entity."""


@dataclass(frozen=True)
class CostLine:
    """Units of one declaration of an entity for one kind of work. ``count``: how often."""

    entity: str
    declaration: str
    work: Work
    count: float
    units: Units


@dataclass(frozen=True)
class Estimate:
    """The units of a period.

    ``requests``: of the API. ``load``: the records and batches of the stream. ``expired``: items
    that the archive receives. ``listings``: of the failure bucket. ``published``: events, by the
    subscriber or "" for the bus. ``publishing``: records of entities that publish.
    """

    lines: tuple[CostLine, ...]
    requests: float
    load: StreamLoad
    expired: float
    listings: float
    published: Mapping[str, float] = field(default_factory=dict)
    publishing: float = 0.0


def estimate_units(
    ledger: Ledger, traffic: Traffic, shapes: Mapping[str, EntityShape] | None = None
) -> Estimate:
    """Estimate the units of the newest generations of a ledger.

    ``shapes``: by entity, what a write reads and checks besides its item.

    Raises:
        TrafficError: the traffic names an entity or a declaration that does not exist, or an
            example cannot be stored.
    """
    _check_names(ledger, traffic)
    estimators = [
        _EntityEstimator(ledger, name, traffic, (shapes or {}).get(name, EntityShape()))
        for name in ledger.list_types()
    ]
    records = sum(estimator.record_count for estimator in estimators)
    load = counting.compute_stream_load(traffic, records)
    lines = [line for estimator in estimators for line in estimator.list_lines(load)]
    batches = min(load.batches, sum(e.written_records for e in estimators))
    idle = counting.estimate_idle_rollups(traffic, load)
    times, listings = Units(), 0.0
    if ledger.derived_types:
        times, listings = counting.estimate_watermark(traffic, load)
    lines += [
        CostLine(STACK, "announcements", "announcements", batches, Units(write=batches)),
        CostLine(STACK, "rollup", "rollups", load.rollups, idle),
        CostLine(STACK, "as_of", "times", load.rollups, times),
    ]
    return Estimate(
        tuple(line for line in _merge_lines(lines) if line.count > 0),
        sum(estimator.request_count for estimator in estimators)
        + sum(transaction.count for transaction in traffic.transactions),
        load,
        sum(estimator.archived_count for estimator in estimators),
        listings,
        _sum_counts(estimator.event_counts for estimator in estimators),
        sum(e.change_count for e in estimators if e.publishes),
    )


def _sum_counts(counts: Iterable[Mapping[str, float]]) -> Mapping[str, float]:
    sums = defaultdict[str, float](float)
    for name, count in chain.from_iterable(each.items() for each in counts):
        sums[name] += count
    return sums


def _merge_lines(lines: Iterable[CostLine]) -> Iterable[CostLine]:
    """One line for each kind of work of a declaration."""
    merged: dict[tuple[str, str, Work], CostLine] = {}
    for line in lines:
        key = (line.entity, line.declaration, line.work)
        sums = merged.get(key, CostLine(*key, 0.0, Units()))
        merged[key] = replace(sums, count=sums.count + line.count, units=sums.units + line.units)
    return merged.values()


def _check_names(ledger: Ledger, traffic: Traffic) -> None:
    named: dict[str, set[str]] = {"entities": set(traffic.entities)}
    for each in traffic.transactions:
        named[f"transactions {each.name}"] = {*each.creates, *each.changes, *each.deletes}
    for place, names in named.items():
        if unknown := sorted(names - set(ledger.entities)):
            raise TrafficError(f"{place}: no entity is called {unknown[0]}")
    for name, entity in traffic.entities.items():
        plan = ledger.current_generation(name).plan
        if unknown := sorted(set(entity.figures) - list_tallies(plan).keys()):
            raise TrafficError(f"entities.{name}.figures: {name} has no figure {unknown[0]!r}")


def _read(image: Image | None) -> Image | None:
    """An example's image as one of a write that raised its version."""
    return image and {name: value for name, value in image.items() if name != "version"}


def list_tallies(plan: EntityPlan) -> dict[str, AggregatePlan]:
    """What has figures that are read, by name: aggregates, and the tallies of counters."""
    return {a.name: a for a in (*plan.aggregates, *(c.tally for c in plan.counters))}


class _EntityEstimator:
    """The lines of one entity."""

    def __init__(self, ledger: Ledger, name: str, traffic: Traffic, shape: EntityShape) -> None:
        self._ledger, self._traffic, self._shape = ledger, traffic, shape
        self._generation: Generation = ledger.current_generation(name)
        self._plan: EntityPlan = self._generation.plan
        self._own = traffic.entities.get(name, EntityTraffic())
        self._events: list[ItemEvent] = []
        if name in traffic.entities or any(
            name in {*t.creates, *t.changes, *t.deletes} for t in traffic.transactions
        ):
            self._events = list_events(self._generation, traffic)

    @property
    def record_count(self) -> float:
        """Records of the stream that reach the projector."""
        return sum(event.count for event in self._events) if self._plan.has_derived_state else 0.0

    @property
    def publishes(self) -> bool:
        """Whether the entity publishes anything."""
        return self._plan.name in self._ledger.events

    @property
    def change_count(self) -> float:
        """Changes of items."""
        return sum(event.count for event in self._events)

    @cached_property
    def event_counts(self) -> Mapping[str, float]:
        """Events, by the subscriber that gets them or "" for the bus."""
        plans = self._ledger.events.get(self._plan.name, ())
        counts = defaultdict[str, float](float)
        for event in self._events:
            if event.kind != "expire":
                for plan in list_published(plans, _read(event.before), _read(event.after)):
                    counts[plan.subscriber] += event.count
        return counts

    @cached_property
    def written_records(self) -> float:
        """Records from which the projector writes anything."""
        return sum(
            event.count
            for event in self._events
            if estimate_row_writes(self._plan, event)
            or any(t.live for _, t in count_touches(self._plan, event))
        )

    @property
    def request_count(self) -> float:
        """Requests of the API for this entity alone."""
        own = self._own
        counts = [own.creates, own.deletes, own.reads, own.sections.changes, own.sections.reads]
        counts += [*(c.count for c in own.changes), *(p.count for p in own.pages.values())]
        figures = (f.reads + f.live + f.ranks + f.tops + f.votes for f in own.figures.values())
        return sum((*counts, *figures))

    @property
    def archived_count(self) -> float:
        """Expired items that the archive receives."""
        is_archived = self._plan.expires is not None and self._plan.expires.archive
        return self._own.expiries if is_archived else 0.0

    def list_lines(self, load: StreamLoad) -> Iterator[CostLine]:
        """All lines of the entity."""
        yield from self._list_writes()
        yield from self._list_rows()
        yield from self._list_counts(load)
        for name, count in self.event_counts.items():
            if name:
                yield self._line(name, "events", count, footprint.HANDLED_EVENT * count)
        yield from self._list_reads()

    def _line(self, declaration: str, work: Work, count: float, units: Units) -> CostLine:
        return CostLine(self._plan.name, declaration, work, count, units)

    def _list_writes(self) -> Iterator[CostLine]:
        plan, assumptions = self._plan, self._traffic.assumptions
        keyed_name = f"{ITEM}: idempotency"
        for event in self._events:
            one = estimate_item_write(plan, self._shape, event, assumptions)
            yield self._line(f"{ITEM}: {event.kind}", "items", event.count, one * event.count)
            if event.keyed:
                yield self._line(keyed_name, "items", event.count, RECORD * event.count)
        for transaction in self._traffic.transactions:
            keyed = transaction.count * transaction.idempotent
            if next(iter(transaction.creates or transaction.deletes), "") == plan.name:
                yield self._line(keyed_name, "items", keyed, RECORD * keyed)
        if changes := self._own.sections.changes:
            changed = [estimate_section_change(plan, e) for e in self._as_events()]
            mean = sum_units(changed) * (1 / len(changed))
            yield self._line("section: change", "items", changes, mean * changes)

    def _list_rows(self) -> Iterator[CostLine]:
        for event in self._events:
            for name, one in estimate_row_writes(self._plan, event).items():
                yield self._line(name, "rows", event.count, one * event.count)

    def _list_counts(self, load: StreamLoad) -> Iterator[CostLine]:
        plan = self._plan
        touches: defaultdict[str, Touches] = defaultdict(Touches)
        for event in self._events:
            for aggregate, count in count_touches(plan, event):
                touches[aggregate.name] += count * event.count
        # One of each name, those that were removed last.
        counted = (*plan.aggregates, *plan.retiring.aggregates, *plan.aggregates)
        for name, aggregate in {each.name: each for each in counted}.items():
            figure = self._own.figures.get(name, FigureTraffic())
            groups = figure.groups
            if groups is None:
                groups = len(list_groups(plan, name, self._events)) or 1
            slots, rollups = counting.estimate_counting(
                aggregate, figure, touches[name], groups, self._traffic, load
            )
            yield self._line(name, "slots", touches[name].live, slots)
            yield self._line(name, "rollups", touches[name].live, rollups)
        for counter in plan.counters:
            figure = self._own.figures.get(counter.name, FigureTraffic())
            slots, rollups = counting.estimate_votes(figure, figure.groups or 1.0, load)
            looked_up = reads.estimate_vote_reads(figure, self._traffic.assumptions)
            yield self._line(counter.name, "slots", figure.votes, slots + looked_up)
            yield self._line(counter.name, "rollups", figure.votes, rollups)

    def _list_reads(self) -> Iterator[CostLine]:
        own = self._own
        estimator = EntityReads(self._plan, self._shape, self._traffic.assumptions, self._samples)
        if own.reads:
            yield self._line(ITEM, "reads", own.reads, estimator.estimate_items(own.reads))
        if count := own.sections.reads:
            yield self._line("section", "reads", count, estimator.estimate_sections(count))
        for name, page in own.pages.items():
            one = estimator.estimate_page(name, page, self._estimate_related(name))
            yield self._line(name, "reads", page.count, one * page.count)
        yield from self._list_figure_reads()

    def _list_figure_reads(self) -> Iterator[CostLine]:
        own, plan = self._own, self._plan
        for name, figure in own.figures.items():
            groups = list_groups(plan, name, self._as_events())
            tally = next(iter(groups), f"{examples.TENANT}#+{plan.name}.{name}#1")
            is_counter = any(counter.name == name for counter in plan.counters)
            slots = figure.slots if is_counter else self._traffic.stream.shards
            units = reads.estimate_figures(list_tallies(plan)[name], figure, tally, slots)
            count = figure.reads + figure.live + figure.ranks + figure.tops
            yield self._line(name, "reads", count, units)

    def _estimate_related(self, name: str) -> Units:
        """The names that a search reaches through other items: all of those items are read."""
        units = Units()
        for through in (t for s in self._plan.searches if s.name == name for t in s.through):
            other = self._traffic.entities.get(through.entity, EntityTraffic())
            generation = self._ledger.current_generation(through.entity)
            samples = other.examples or ({},)
            size = sum(measure_image(examples.build_image(generation, v)) for v in samples)
            total = size / len(samples) * other.items
            units += Units(read=measure_read(total, consistent=False))
        return units

    @cached_property
    def _samples(self) -> list[tuple[Mapping[str, Any], Image]]:
        if self._plan.name not in self._traffic.entities:
            return []
        return [
            (values, examples.build_image(self._generation, values))
            for values in self._own.examples or ({},)
        ]

    def _as_events(self) -> list[ItemEvent]:
        return [ItemEvent("create", 1, image, image, values) for values, image in self._samples]
