"""The changes of each record: pure, all computed before any write (EXACTNESS rule 2)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

from daicho.derive import contributions, derived_items
from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.layout import item_keys
from daicho.layout.marks import (
    DISMISSED_MARK,
    RestoredMark,
    is_dismissed,
    is_repair,
    takes_back_amounts,
)
from daicho.plan import EntityPlan, Ledger, NewerGenerationError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey
from daicho.stream.records import StreamRecord, get_entity
from daicho.stream.time_limit import TimeLimit, limit_time
from daicho.tally import slots

SECONDS_PER_RECORD = 1.0
_log = logging.getLogger(__name__)

IndexRows = Mapping[ItemKey, IndexRow]


@dataclass(frozen=True)
class RecordChanges:
    """A record, and everything that follows from it.

    ``before`` and ``after`` are the derived items of its images, ``deltas`` the amount that it
    adds to each slot; none of them is zero. ``amounts``: what the new image contributes, by tally.
    """

    record: StreamRecord
    before: IndexRows
    after: IndexRows
    deltas: Mapping[ItemKey, Amount]
    amounts: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def is_repair(self) -> bool:
        """Whether everything that the item derives is to be written (rule 38)."""
        return is_repair(self.record.old, self.record.new)


def list_repaired(batch: Iterable[RecordChanges]) -> frozenset[ItemKey]:
    """The base items of which a batch has a repair."""
    return frozenset(changes.record.key for changes in batch if changes.is_repair)


@dataclass(frozen=True)
class PoisonRecord:
    """A record that cannot be computed, and its error: the same code always fails on it.

    ``generation``: the newest one of its entity that the code knows.
    """

    record: StreamRecord
    error: Exception
    generation: int = 0


@dataclass(frozen=True)
class ComputedBatch:
    """The result of computing a batch: each record is in one of the fields, or is ignored.

    ``stop`` is the record at which the batch ends, because one of its images is of a newer
    generation (rule 3); no record behind it was read. ``heartbeats`` are those before it.
    """

    computed: tuple[RecordChanges, ...] = ()
    poison: tuple[PoisonRecord, ...] = ()
    stop: StreamRecord | None = None
    heartbeats: tuple[StreamRecord, ...] = ()


@dataclass(frozen=True)
class PlannedImage:
    """An image with the plan of its generation; no plan and no image where nothing existed."""

    plan: EntityPlan | None = None
    image: Image | None = None

    @classmethod
    def parse(cls, image: Image | None, ledger: Ledger) -> PlannedImage:
        """Read an image by the plan of its own generation, without disabled instances (rule 34).

        An image of no entity, or with a valid mark, is as good as absent (rule 56).

        Raises:
            NewerGenerationError: the code is older than the image.
            UnderivableError: it has no generation.
        """
        entity = get_entity(image)
        if image is None or entity is None or is_of_no_entity(entity, ledger):
            return _ABSENT
        if DISMISSED_MARK in image and is_dismissed(image):
            return _ABSENT
        generation = attributes.get_integer(image, "gen")
        if generation is None:
            raise item_keys.UnderivableError("an image without a generation")
        return cls(ledger.find_enabled_plan(entity, generation), image)

    @property
    def rows(self) -> IndexRows:
        """The image's derived items; an absent image derives none (rule 7)."""
        if self.plan is None or self.image is None:
            return {}
        return derived_items.compute_index_rows(self.plan, self.image)

    @property
    def amounts(self) -> Mapping[str, Amount]:
        """The image's contributions by tally."""
        if self.plan is None or self.image is None:
            return {}
        return contributions.compute_contributions(self.plan, self.image)


_ABSENT = PlannedImage()


def is_of_no_entity(entity: str, ledger: Ledger) -> bool:
    """Whether no released lock file has an entity of this name.

    Raises:
        NewerGenerationError: this code does not know it, and the table does not tell.
    """
    if entity not in ledger.entities and ledger.released.get(entity) != 0:
        raise NewerGenerationError(f"no entity is called {entity!r} yet")
    return entity not in ledger.entities


def compute_batch(records: Iterable[StreamRecord], ledger: Ledger) -> ComputedBatch:
    """Compute record after record, up to the first of a newer generation.

    A record that cannot be computed blocks nothing: it is put aside, and the rest is computed.
    """
    computed: list[RecordChanges] = []
    poison: list[PoisonRecord] = []
    heartbeats: list[StreamRecord] = []
    with TimeLimit(SECONDS_PER_RECORD) as time_limit:
        for record in records:
            if record.heartbeat is not None:
                heartbeats.append(record)
            entity = record.entity
            if entity is None:
                continue  # a derived item or a slot: the mapping's filter keeps most of them away
            try:
                computed.append(time_limit.call(compute_record, record, ledger))
            except Exception as error:  # any: the same code on the same image always fails
                newer = _is_newer(record, ledger, error)
                _log_failure(record, error, newer=newer)
                if newer:
                    return ComputedBatch(tuple(computed), tuple(poison), record, tuple(heartbeats))
                poison.append(PoisonRecord(record, error, _get_generation(entity, ledger)))
    return ComputedBatch(tuple(computed), tuple(poison), heartbeats=tuple(heartbeats))


def _get_generation(entity: str, ledger: Ledger) -> int:
    return ledger.current_generation(entity).number if entity in ledger.entities else 0


def _log_failure(record: StreamRecord, error: Exception, *, newer: bool) -> None:
    _log.error(
        "record of a newer generation" if newer else "record cannot be computed",
        exc_info=error,
        extra={"seq": record.seq, "shard": record.shard, "item": [record.key.pk, record.key.sk]},
    )


def is_bad(image: Image | None, ledger: Ledger, seconds: float) -> bool:
    """Whether this code cannot compute an image.

    Raises:
        NewerGenerationError: it is older than the image.
    """
    try:
        limit_time(seconds, _compute_image, image, ledger)
    except NewerGenerationError:
        raise
    except Exception:  # whatever it is: rule 56 decides what becomes of the image
        return True
    return False


def _compute_image(image: Image | None, ledger: Ledger) -> tuple[IndexRows, Mapping[str, Amount]]:
    planned = PlannedImage.parse(image, ledger)
    return planned.rows, planned.amounts


def _is_newer(record: StreamRecord, ledger: Ledger, error: Exception) -> bool:
    """Decide whether a record that cannot be computed is of a newer generation or poison.

    No other place decides it. A record is of a newer generation (rule 3) if the code is older
    than the image; a deploy corrects that. It is not if that generation, or that entity, was never
    released (``Ledger.released``, rule 56). Any other record is poison, unless its other image is
    of a newer generation.
    """
    if isinstance(error, NewerGenerationError):
        return True
    return any(is_newer_image(image, ledger) for image in (record.old, record.new))


def compute_record(
    record: StreamRecord, ledger: Ledger, empty: Collection[str] = ()
) -> RecordChanges:
    """Compute everything that follows from one record, or raise: never a part of it.

    Each image is read by the plan of its own generation. The difference is between the rows and
    amounts that the old image gave and those that the new image gives. ``empty``: images that count
    as absent, "old" or "new" (rule 56).
    """
    old = PlannedImage.parse(None if "old" in empty else record.old, ledger)
    new = PlannedImage.parse(None if "new" in empty else record.new, ledger)
    changes: list[tuple[ItemKey, Amount]] = []
    before = old.amounts
    for tally, amount in before.items():
        changes.append((slots.build_slot_key(tally, record.shard), -amount))
    for tally, amount in select_kept(old.plan, before).items() if record.expired else ():
        # An expired item stays counted, in a slot that no recount of live items touches.
        changes.append((slots.build_kept_key(tally, record.shard), amount))
    amounts = new.amounts
    for tally, amount in amounts.items():
        changes.append((slots.build_slot_key(tally, record.shard), amount))
    for tally, amount in _compute_kept_amounts(record, new, ledger).items():
        # The item is live again, and is counted with the live items.
        changes.append((slots.build_kept_key(tally, record.shard), -amount))
    return RecordChanges(record, old.rows, new.rows, _sum_by_slot(changes), amounts)


def merge_changes(first: RecordChanges, last: RecordChanges) -> RecordChanges:
    """The changes of two records as those of the last one."""
    before, after = {**first.before, **last.before}, {**first.after, **last.after}
    deltas = _sum_by_slot((*first.deltas.items(), *last.deltas.items()))
    return RecordChanges(last.record, before, after, deltas)


def _sum_by_slot(changes: Iterable[tuple[ItemKey, Amount]]) -> Mapping[ItemKey, Amount]:
    """The delta of each slot. Only a record whose own delta is zero takes no part (rule 10)."""
    deltas: dict[ItemKey, Amount] = {}
    for key, amount in changes:
        deltas[key] = deltas[key] + amount if key in deltas else amount
    return {key: delta for key, delta in deltas.items() if delta}


def is_newer_image(image: Image | None, ledger: Ledger) -> bool:
    """Whether the code is older than an image, as far as its ledger knows."""
    try:
        PlannedImage.parse(image, ledger)
    except NewerGenerationError:
        return True
    except Exception:  # its error is known, or it is the other image's
        return False
    return False


def _compute_kept_amounts(
    record: StreamRecord, new: PlannedImage, ledger: Ledger
) -> Mapping[str, Amount]:
    """The amounts that a record subtracts from kept parts, because it restores an archived item.

    A row gives its amounts back once: at its first restore, and at no later write of the item
    (rule 42).
    """
    mark = RestoredMark.from_image(record.new)
    if mark is None or not takes_back_amounts(record.old, record.new):
        return {}
    return compute_taken_back(new, mark.generation, ledger)


def compute_taken_back(
    restored: PlannedImage, archived_generation: int, ledger: Ledger
) -> Mapping[str, Amount]:
    """What the first restore of an archived row subtracts from kept parts, by tally.

    It follows from the plan of the image that is written: what this plan keeps and the archived
    image did not contribute to, a rebuild adds from the archive, before or after (rule 33). A
    restore by older code also subtracts what the newer plan of the archived image kept.
    """
    if restored.plan is None or restored.image is None:
        return {}
    readings = [restored]
    if archived_generation > (attributes.get_integer(restored.image, "gen") or 0):
        archived = {**restored.image, "gen": attributes.to_value(archived_generation)}
        readings.append(PlannedImage.parse(archived, ledger))
    taken_back: dict[str, Amount] = {}
    for reading in readings:
        if _list_kept_aggregates(reading.plan):
            taken_back |= select_kept(reading.plan, reading.amounts)
    return taken_back


def select_kept(plan: EntityPlan | None, amounts: Mapping[str, Amount]) -> dict[str, Amount]:
    """Those of an image's amounts that stay counted once its item has expired."""
    kept = _list_kept_aggregates(plan)
    if not kept:
        return {}
    return {tally: amount for tally, amount in amounts.items() if _get_instance(tally) in kept}


def _list_kept_aggregates(plan: EntityPlan | None) -> frozenset[tuple[str, int]]:
    """The instances whose tallies keep what expires."""
    aggregates = plan.derived_aggregates if plan else ()
    return frozenset(
        (aggregate.name, aggregate.since)
        for aggregate in aggregates
        if aggregate.on_expiry == "keep"
    )


def _get_instance(tally: str) -> tuple[str, int]:
    name = slots.TallyName.parse(tally)
    return name.aggregate, name.since
