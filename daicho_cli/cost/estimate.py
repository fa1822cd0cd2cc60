"""The capacity units of a period: from declarations, and from a description of its traffic. Pure.

No figure is measured. Each follows from the example items: their images, and what
`daicho.derive` derives from them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from daicho.plan import EntityPlan, Generation, Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.attributes import Image, measure_image
from daicho_cli.cost import counting, derived_writes, examples, item_writes, reads
from daicho_cli.cost.counting import StreamLoad
from daicho_cli.cost.derived_writes import Touches
from daicho_cli.cost.events import EntityShape, ItemEvent, list_events
from daicho_cli.cost.traffic import EntityTraffic, FigureTraffic, Traffic, TrafficError
from daicho_cli.cost.units import Units, measure_read, sum_units
from daicho_cli.cost.watermark import WatermarkLoad, estimate_watermark

Work = Literal["items", "rows", "slots", "rollups", "announcements", "times", "reads"]
"""What units are used for: base items with all that their requests read and write; index rows;
slots; totals and marks; the announcements of batches; the times of figures; reads of users."""

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
    that the archive receives. ``listings``: of the failure bucket.
    """

    lines: tuple[CostLine, ...]
    requests: float
    load: StreamLoad
    expired: float
    listings: float

    @cached_property
    def total(self) -> Units:
        """The sum of all lines."""
        return sum_units(line.units for line in self.lines)

    def select(self, entity: str, work: Work | None = None) -> Units:
        """The sum of an entity's lines, of one kind of work or of all."""
        return sum_units(
            line.units for line in self.lines if line.entity == entity and work in (None, line.work)
        )


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
    lines += [
        CostLine(STACK, "announcements", "announcements", batches, Units(write=batches)),
        CostLine(STACK, "rollup", "rollups", load.rollups, idle),
    ]
    watermark = WatermarkLoad(Units(), 0)
    if ledger.derived_types:
        watermark = estimate_watermark(traffic, load)
    lines.append(CostLine(STACK, "as_of", "times", load.rollups, watermark.units))
    return Estimate(
        tuple(line for line in lines if line.count > 0),
        sum(estimator.request_count for estimator in estimators)
        + sum(transaction.count for transaction in traffic.transactions),
        load,
        sum(estimator.archived_count for estimator in estimators),
        watermark.listings,
    )


def _check_names(ledger: Ledger, traffic: Traffic) -> None:
    named: dict[str, set[str]] = {"entities": set(traffic.entities)}
    for transaction in traffic.transactions:
        names = {*transaction.creates, *transaction.changes, *transaction.deletes}
        named[f"transactions {transaction.name}"] = names
    for place, names in named.items():
        if unknown := sorted(names - set(ledger.entities)):
            raise TrafficError(f"{place}: no entity is called {unknown[0]}")
    for name, entity in traffic.entities.items():
        plan = ledger.current_generation(name).plan
        tallies = (*plan.aggregates, *(counter.tally for counter in plan.counters))
        declared = {tally.name for tally in tallies}
        if unknown := sorted(set(entity.figures) - declared):
            raise TrafficError(f"entities.{name}.figures: {name} has no figure {unknown[0]!r}")


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

    @cached_property
    def written_records(self) -> float:
        """Records from which the projector writes anything."""
        return sum(
            event.count
            for event in self._events
            if derived_writes.estimate_row_writes(self._plan, event)
            or derived_writes.count_touches(self._plan, event)
        )

    @property
    def request_count(self) -> float:
        """Requests of the API for this entity alone."""
        own = self._own
        figures = (f.reads + f.live + f.ranks + f.tops + f.votes for f in own.figures.values())
        return (
            own.creates + own.deletes + own.reads + own.sections.changes + own.sections.reads
            + sum(change.count for change in own.changes)
            + sum(page.count for page in own.pages.values())
            + sum(figures)
        )  # fmt: skip

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
        yield from self._list_reads()

    def _line(self, declaration: str, work: Work, count: float, units: Units) -> CostLine:
        return CostLine(self._plan.name, declaration, work, count, units)

    def _list_writes(self) -> Iterator[CostLine]:
        assumptions = self._traffic.assumptions
        counts: defaultdict[str, float] = defaultdict(float)
        units: defaultdict[str, Units] = defaultdict(Units)
        for event in self._events:
            one = item_writes.estimate_item_write(self._plan, self._shape, event, assumptions)
            counts[event.kind] += event.count
            units[event.kind] += one * event.count
            if event.keyed:
                counts["idempotency"] += event.count
                units["idempotency"] += item_writes.RECORD * event.count
        for name, count in counts.items():
            yield self._line(f"{ITEM}: {name}", "items", count, units[name])
        for transaction in self._traffic.transactions:
            keyed = transaction.count * transaction.idempotent
            if next(iter(transaction.creates or transaction.deletes), "") == self._plan.name:
                yield self._line(f"{ITEM}: idempotency", "items", keyed, item_writes.RECORD * keyed)
        changes = self._own.sections.changes
        if changes and self._samples:
            changed = [
                item_writes.estimate_section_change(self._plan, event)
                for event in self._as_events()
            ]
            mean = sum_units(changed) * (1 / len(changed))
            yield self._line("section: change", "items", changes, mean * changes)

    def _list_rows(self) -> Iterator[CostLine]:
        counts: defaultdict[str, float] = defaultdict(float)
        units: defaultdict[str, Units] = defaultdict(Units)
        for event in self._events:
            for name, one in derived_writes.estimate_row_writes(self._plan, event).items():
                counts[name] += event.count
                units[name] += one * event.count
        for name, count in counts.items():
            yield self._line(name, "rows", count, units[name])

    def _list_counts(self, load: StreamLoad) -> Iterator[CostLine]:
        touches: defaultdict[str, Touches] = defaultdict(Touches)
        for event in self._events:
            for name, count in derived_writes.count_touches(self._plan, event).items():
                touches[name] += count * event.count
        for aggregate in derived_writes.list_counted(self._plan):
            name, figure = aggregate.name, self._get_figure(aggregate.name)
            units = counting.estimate_counting(
                aggregate, figure, touches[name], self._count_groups(name), self._traffic, load
            )
            yield self._line(name, "slots", touches[name].live, units.slots)
            yield self._line(name, "rollups", touches[name].live, units.rollups)
        for counter in self._plan.counters:
            figure = self._get_figure(counter.name)
            units = counting.estimate_votes(figure, figure.groups or 1.0, load)
            looked_up = reads.estimate_vote_reads(figure, self._traffic.assumptions)
            yield self._line(counter.name, "slots", figure.votes, units.slots + looked_up)
            yield self._line(counter.name, "rollups", figure.votes, units.rollups)

    def _list_reads(self) -> Iterator[CostLine]:
        own, plan, shape = self._own, self._plan, self._shape
        assumptions = self._traffic.assumptions
        samples = self._samples
        if samples and own.reads:
            units = sum_units(
                reads.estimate_item_read(plan, shape, image, values, assumptions)
                for values, image in samples
            )
            yield self._line(ITEM, "reads", own.reads, units * (own.reads / len(samples)))
        if samples and own.sections.reads:
            units = sum_units(
                reads.estimate_section_read(plan, image, values) for values, image in samples
            )
            count = own.sections.reads
            yield self._line("section", "reads", count, units * (count / len(samples)))
        images = [image for _, image in samples]
        for name, page in own.pages.items():
            one = reads.estimate_page(
                plan, shape, name, page, images, self._estimate_related(name), assumptions
            )
            yield self._line(name, "reads", page.count, one * page.count)
        yield from self._list_figure_reads()

    def _list_figure_reads(self) -> Iterator[CostLine]:
        own, plan = self._own, self._plan
        groups = derived_writes.list_groups(plan, self._as_events())
        tallies = {a.name: a for a in (*plan.aggregates, *(c.tally for c in plan.counters))}
        votes = {counter.name for counter in plan.counters}
        for name, figure in own.figures.items():
            tally = next(iter(groups.get(name, ())), f"{examples.TENANT}#+{plan.name}.{name}#1")
            slots = figure.slots if name in votes else self._traffic.stream.shards
            units = reads.estimate_figures(tallies[name], figure, tally, slots)
            count = figure.reads + figure.live + figure.ranks + figure.tops
            yield self._line(name, "reads", count, units)

    def _estimate_related(self, name: str) -> Units:
        """The names that a search reaches through other items: all of those items are read."""
        search = reads.find_by_name(self._plan.searches, name)
        units = Units()
        for through in search.through if search else ():
            other = self._traffic.entities.get(through.entity, EntityTraffic())
            generation = self._ledger.current_generation(through.entity)
            samples = other.examples or ({},)
            size = sum(measure_image(examples.build_image(generation, v)) for v in samples)
            total = size / len(samples) * other.items
            units += Units(read=measure_read(total, consistent=False))
        return units

    def _get_figure(self, name: str) -> FigureTraffic:
        return self._own.figures.get(name, FigureTraffic())

    def _count_groups(self, name: str) -> float:
        groups = self._get_figure(name).groups
        if groups is not None:
            return groups
        return float(len(derived_writes.list_groups(self._plan, self._events).get(name, ())) or 1)

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
