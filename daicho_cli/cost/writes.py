"""Units of writing items, with what the same request reads and writes, and what derives from it.

Versions, sections, reservations and the marks of leftovers are written by the request. Index rows
and groups are those that `daicho.derive` computes from the images of a change. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from daicho.declare.entity import Entity
from daicho.derive.contributions import Amount, compute_contributions
from daicho.derive.derived_items import IndexRow, compute_index_rows
from daicho.layout import cleanup_marks, sections, versions
from daicho.layout.reservations import build_reservations
from daicho.plan import AggregatePlan, EntityPlan, Ledger, RetiringPlan
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key, measure_image
from daicho_cli.cost.examples import (
    CREATED,
    ID,
    ExampleError,
    ItemEvent,
    build_pieces,
    build_stored_item,
    build_version_item,
)
from daicho_cli.cost.traffic import Assumptions
from daicho_cli.cost.units import Units, measure_get, measure_read, measure_write, sum_units

K = TypeVar("K")
V = TypeVar("V")
SEQUENCE = "2026-11-01T00:00:00.000#" + "0" * 40
"""As long as the numbers that derived items and slots carry."""


def estimate_row_writes(plan: EntityPlan, event: ItemEvent) -> dict[str, Units]:
    """The units of the index rows that one change writes, by the name of the declaration."""
    before, after = (
        _derive(compute_index_rows, plan, image) for image in (event.before, event.after)
    )
    written: defaultdict[str, float] = defaultdict(float)
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old != new:
            units = measure_write(_build_row(key, old) if old else None, _build_row(key, new))
            written[keys.parse(key.sk)[0]] += units
    return {name: Units(write=units) for name, units in written.items()}


def list_row_images(plan: EntityPlan, image: Image) -> Iterator[tuple[str, Image]]:
    """The index rows of a stored item, each with the name of its declaration."""
    for key, row in compute_index_rows(plan, image).items():
        yield keys.parse(key.sk)[0], _build_row(key, row)


@dataclass(frozen=True)
class Touches:
    """How many groups changes count in: of live items, and of expired ones that stay counted.

    Both have slots of their own.
    """

    live: float = 0.0
    kept: float = 0.0

    def __add__(self, other: Touches) -> Touches:
        return Touches(self.live + other.live, self.kept + other.kept)

    def __mul__(self, count: float) -> Touches:
        return Touches(self.live * count, self.kept * count)


def count_touches(plan: EntityPlan, event: ItemEvent) -> list[tuple[AggregatePlan, Touches]]:
    """How many groups of each aggregate one change counts in, also of those that retire."""
    touches = []
    for aggregate in plan.derived_aggregates:
        before, after = (_compute_amounts(plan, aggregate, i) for i in (event.before, event.after))
        tallies = {*before, *after}
        changed = sum(before.get(t, Amount()) != after.get(t, Amount()) for t in tallies)
        is_kept = event.kind == "expire" and aggregate.on_expiry == "keep"
        touches.append((aggregate, Touches(changed, changed * is_kept)))
    return touches


def list_groups(plan: EntityPlan, name: str, events: Iterable[ItemEvent]) -> list[str]:
    """The groups of the examples in the aggregates of this name."""
    tallies = (
        tally
        for aggregate in plan.derived_aggregates
        for event in events
        for image in (event.before, event.after)
        for tally in _compute_amounts(plan, aggregate, image)
        if aggregate.name == name
    )
    return list(dict.fromkeys(tallies))


def _compute_amounts(
    plan: EntityPlan, aggregate: AggregatePlan, image: Image | None
) -> Mapping[str, Amount]:
    alone = replace(plan, aggregates=(aggregate,), retiring=RetiringPlan())
    return _derive(compute_contributions, alone, image)


def _derive(
    derive: Callable[[EntityPlan, Image], Mapping[K, V]], plan: EntityPlan, image: Image | None
) -> Mapping[K, V]:
    """What an image derives; nothing without an image."""
    if image is None:
        return {}
    try:
        return derive(plan, build_stored_item(plan, image))
    except (ValueError, ArithmeticError, LookupError) as error:
        raise ExampleError(f"an example of {plan.name} derives nothing: {error}") from error


def _build_row(key: ItemKey, row: IndexRow | None) -> Image:
    """A derived item with its number, or the tombstone in its place."""
    if row is not None:
        return {**row.to_item(key), "seq": {"S": SEQUENCE}}
    return {
        "PK": {"S": key.pk},
        "SK": {"S": key.sk},
        "seq": {"S": SEQUENCE},
        "ttl": {"N": str(int(CREATED.timestamp()))},
    }


@dataclass(frozen=True)
class EntityShape:
    """What a write of an entity reads and checks besides the item, which its plan does not say.

    Args:
        checked: the fields that refer to items that must exist.
        copied: for each field that is copied from another item, whether it is frozen there and may
            come from the cache of a function instance.
        keyed: whether the key depends on another item, such as the poll of a ballot.
        object_fields: the fields that are objects in S3.
    """

    checked: tuple[str, ...] = ()
    copied: Mapping[str, bool] | None = None
    keyed: bool = False
    object_fields: tuple[str, ...] = ()


def describe_entities(entities: Iterable[type[Entity]], ledger: Ledger) -> dict[str, EntityShape]:
    """The shape of each entity, by name."""
    shapes = {}
    for entity in entities:
        fields, key = entity.fields_, ledger.current_generation(entity.__name__).plan.key
        copied = {
            name: spec.source is not None and spec.source.frozen
            for name, spec in fields.items()
            if spec.role == "copied"
        }
        shapes[entity.__name__] = EntityShape(
            checked=tuple(name for name, spec in fields.items() if spec.must_exist),
            copied=copied,
            keyed=not copied.keys().isdisjoint((key.shards, key.salt)),
            object_fields=entity.object_fields_,
        )
    return shapes


RECORD = Units(read=1.0, write=2.0)
"""The record of an Idempotency-Key, of at most 1 KB: looked up, and put in the transaction."""
CHECK_UNITS = 2.0
"""The write units of a condition check in a transaction, of an item of at most 1 KB."""
SWEPT_MARK_READS = 2.0
"""The sweep reads a mark of an object, and the item that the object belonged to."""


def estimate_item_write(
    plan: EntityPlan, shape: EntityShape, event: ItemEvent, assumptions: Assumptions
) -> Units:
    """The units of one request of an event, without the record of its Idempotency-Key."""
    if event.kind == "expire":
        return Units()  # a deletion by DynamoDB's TTL process costs nothing
    reserved = _estimate_reservations(plan, event)
    units = _estimate_references(shape, event, assumptions) + Units(write=reserved)
    if plan.versions is not None:
        return units + _estimate_versioned(plan, event)
    if plan.split is not None and (not event.is_patch or plan.split in event.changed):
        return units + _estimate_document(plan, event)
    if event.kind == "delete" and shape.object_fields:
        return units + _estimate_object_removal(plan, shape, event)
    checked = [n for n in shape.checked if event.kind == "create" or n in event.changed]
    units += Units(read=len(checked), write=CHECK_UNITS * len(checked))
    return units + _estimate_plain(event, bool(checked) or reserved > 0)


def _estimate_reservations(plan: EntityPlan, event: ItemEvent) -> float:
    """The write units of unique values: reservations that are put and removed with the item."""
    if not plan.derived_uniques:
        return 0.0
    before, after = (
        build_reservations(plan, image) if image is not None else {}
        for image in (event.before, event.after)
    )
    writes = ((before.get(key), after.get(key)) for key in {*before, *after})
    return _transact(*(write for write in writes if write[0] != write[1]))


def estimate_section_change(plan: EntityPlan, event: ItemEvent) -> Units:
    """The units of a change of one section of a split item: the mean of its sections."""
    head = event.head
    pieces = build_pieces(plan, head, event.values)
    if not pieces:
        return Units()
    units = sum_units(
        Units(measure_get(piece), measure_write(piece, piece, transactional=True))
        for piece in pieces
    )
    return units * (1 / len(pieces)) + Units(
        measure_get(head), measure_write(head, head, transactional=True)
    )


def _estimate_plain(event: ItemEvent, checked: bool) -> Units:
    before, after = event.before, event.after
    moved = event.is_moved
    transactional = event.transactional or checked or moved
    is_read = transactional or event.is_patch
    reads = measure_get(before) if is_read else 0.0
    if moved:
        return Units(reads + measure_get(None), _transact((before, None), (None, after)))
    return Units(reads, measure_write(before, after, transactional=transactional))


def _transact(*writes: tuple[Image | None, Image | None]) -> float:
    """The write units of a transaction, of items without and with each write."""
    return sum(measure_write(before, after, transactional=True) for before, after in writes)


def _estimate_references(shape: EntityShape, event: ItemEvent, assumptions: Assumptions) -> Units:
    """The reads of items that fields are copied from, or that the key depends on."""
    is_whole = event.after is not None and not event.is_patch
    frozen = [*(shape.copied or {}).values()] if is_whole else []
    reads = float(frozen.count(False))
    if shape.keyed or any(frozen):
        # All frozen fields of a request are copied from one item, which is read once.
        reads += assumptions.cache_misses
    return Units(read=reads)


def _estimate_versioned(plan: EntityPlan, event: ItemEvent) -> Units:
    """A transaction of the base item and of the next version's item."""
    by_copy = plan.versions == "copy"
    old, reads = None, 2.0 if by_copy else 1.0  # the base item, and the newest version, if any
    if event.before is not None:
        old = build_stored_item(plan, event.before)
        reads = measure_get(old if by_copy else build_version_item(plan, event.before))
    if event.after is None:
        state = versions.VersionState(event.head, 1)
        item: Image = versions.build_deletion_marker(plan, get_key(event.head), state, CREATED)
        new = None
    else:
        number = 1 if event.before is None else 2
        item = build_version_item(plan, event.after, number)
        new = build_stored_item(plan, event.after, number)
    return Units(reads, _transact((old, new), (None, item)))


def _estimate_document(plan: EntityPlan, event: ItemEvent) -> Units:
    """A split item as a whole: its sections in a new epoch, its head, and the old sections."""
    old, new, head = event.before, event.after, event.head
    partition = sections.render_sections_partition(get_key(head), plan.name)
    mark = cleanup_marks.build_mark(partition, ID, CREATED + cleanup_marks.IN_FLIGHT_GRACE)
    due = cleanup_marks.build_mark(partition, ID, CREATED)
    pieces = build_pieces(plan, head, event.values)
    reads, written = measure_get(old), measure_write(old, new, transactional=True)
    if new is not None:
        written += measure_write(None, mark) + sum(measure_write(None, piece) for piece in pieces)
    written += measure_write(mark if new else None, due, transactional=True)
    if event.keyed:
        return Units(reads, written)  # the sweep removes the rest
    if old is not None:
        reads += measure_read(sum(map(measure_image, pieces)))
        written += sum(measure_write(piece, None) for piece in pieces)
    return Units(reads, written + measure_write(due, None))


def _estimate_object_removal(plan: EntityPlan, shape: EntityShape, event: ItemEvent) -> Units:
    """A transaction of the item and of a mark for each object, and the sweep of the marks."""
    partition = cleanup_marks.render_owner_partition(get_key(event.head), plan.name)
    units = Units(measure_get(event.before), measure_write(event.before, None, transactional=True))
    for name in shape.object_fields:
        mark = cleanup_marks.build_mark(partition, name, CREATED, object=ID * 3)
        units += Units(SWEPT_MARK_READS, _transact((None, mark)) + measure_write(mark, None))
    return units
