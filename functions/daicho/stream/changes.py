"""What each record changes: pure, and all of it before any write (EXACTNESS rule 2)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daicho.derive import contributions, derived_items
from daicho.derive.contributions import Amount
from daicho.derive.index_row import IndexRow
from daicho.layout import components
from daicho.plan import EntityPlan, Ledger, NewerGenerationError
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.stream.records import StreamRecord
from daicho.stream.time_limit import limit_time
from daicho.tally import slots

SECONDS_PER_RECORD = 1.0
RESTORED_MARK = "_restored"
"""The attribute of an item that came back from the archive: of which row and generation."""
_log = logging.getLogger(__name__)

IndexRows = Mapping[ItemKey, IndexRow]


@dataclass(frozen=True)
class RecordChanges:
    """A record, and everything that follows from it.

    ``before`` and ``after`` are the derived items of its images, ``deltas`` the amount that it
    adds to each slot; none of them is zero.
    """

    record: StreamRecord
    before: IndexRows
    after: IndexRows
    deltas: Mapping[ItemKey, Amount]


@dataclass(frozen=True)
class PoisonRecord:
    """A record that cannot be computed, and why: the same code on it fails always.

    ``generation``: the newest one of its entity that the code knows.
    """

    record: StreamRecord
    error: Exception
    generation: int = 0


@dataclass(frozen=True)
class ComputedBatch:
    """What computing a batch gave: each record is in one of the three, or of no concern.

    ``stop`` is the record at which the batch ends, because one of its images is of a newer
    generation (rule 3); nothing behind it was looked at.
    """

    computed: tuple[RecordChanges, ...] = ()
    poison: tuple[PoisonRecord, ...] = ()
    stop: StreamRecord | None = None


@dataclass(frozen=True)
class PlannedImage:
    """An image with the plan of its generation; no plan and no image where nothing existed."""

    plan: EntityPlan | None = None
    image: Image | None = None

    @classmethod
    def parse(cls, image: Image | None, ledger: Ledger) -> PlannedImage:
        """Read an image by the plan of its own generation.

        Raises:
            NewerGenerationError: the code is older than the image.
            UnderivableError: it has no generation.
        """
        if image is None:
            return cls()
        generation = attributes.get_integer(image, "gen")
        if generation is None:
            raise components.UnderivableError("an image without a generation")
        return cls(ledger.find_plan(image["type"]["S"], generation), image)

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


def compute_batch(records: Iterable[StreamRecord], ledger: Ledger) -> ComputedBatch:
    """Compute record after record, up to the first of a newer generation.

    What cannot be computed holds nothing up: it is put aside, and the rest goes on.
    """
    computed: list[RecordChanges] = []
    poison: list[PoisonRecord] = []
    for record in records:
        if record.entity is None:
            continue  # a derived item or a slot: the mapping's filter keeps most of them away
        try:
            one = compute_in_time(record, ledger)
        except Exception as error:  # whatever it is: the same code on the same image fails always
            newer = is_newer(record, ledger, error)
            _log.error(
                "record of a newer generation" if newer else "record cannot be computed",
                exc_info=error,
                extra={
                    "seq": record.seq,
                    "shard": record.shard,
                    "item": [record.key.pk, record.key.sk],
                },
            )
            if newer:
                return ComputedBatch(tuple(computed), tuple(poison), record)
            poison.append(
                PoisonRecord(record, error, ledger.current_generation(record.entity).number)
            )
        else:
            computed.append(one)
    return ComputedBatch(tuple(computed), tuple(poison))


def compute_in_time(
    record: StreamRecord, ledger: Ledger, seconds: float | None = None
) -> RecordChanges:
    """Compute one record, or raise: within a second, if nothing else is said."""
    return limit_time(seconds or SECONDS_PER_RECORD, lambda: compute_record(record, ledger))


def is_newer(record: StreamRecord, ledger: Ledger, error: Exception) -> bool:
    """Decide what a record that could not be computed means: the only place that does.

    Of a newer generation (rule 3): the code is older than the image, a deploy will better it.
    An entity that no generation knows is of a newer ledger too, since the mapping's filter names
    it. All else is poison, unless the other image is of a newer generation.
    """
    if isinstance(error, NewerGenerationError) or record.entity not in ledger.entities:
        return True
    return any(_is_newer(image, ledger) for image in (record.old, record.new))


def compute_record(record: StreamRecord, ledger: Ledger) -> RecordChanges:
    """Everything that follows from one record, or an exception: never a part.

    Each image is read by the plan of its own generation, so that the difference is between what
    was derived and counted of the old one and what is to be of the new one.
    """
    old, new = PlannedImage.parse(record.old, ledger), PlannedImage.parse(record.new, ledger)
    deltas: dict[ItemKey, Amount] = {}

    def add(key: ItemKey, amount: Amount) -> None:
        deltas[key] = deltas.get(key, Amount()) + amount

    kept = _list_kept_aggregates(old.plan) if record.expired else frozenset()
    for tally, amount in old.amounts.items():
        add(slots.build_slot_key(tally, record.shard), -amount)
        if kept and slots.TallyName.parse(tally).aggregate in kept:
            # What expired goes on counting, in a slot that no recount of what lives touches.
            add(slots.build_kept_key(tally, record.shard), amount)
    for tally, amount in new.amounts.items():
        add(slots.build_slot_key(tally, record.shard), amount)
    for tally, amount in _compute_kept_amounts(record, ledger).items():
        # It lives again, and is counted as what lives.
        add(slots.build_kept_key(tally, record.shard), -amount)
    # Only a record whose own delta is zero takes no part (rule 10).
    changed = {key: delta for key, delta in deltas.items() if delta}
    return RecordChanges(record, old.rows, new.rows, changed)


def _is_newer(image: Image | None, ledger: Ledger) -> bool:
    try:
        PlannedImage.parse(image, ledger)
    except NewerGenerationError:
        return True
    except Exception:  # its error is known, or it is the other image's
        return False
    return False


def _compute_kept_amounts(record: StreamRecord, ledger: Ledger) -> Mapping[str, Amount]:
    """What has gone on counting of an item that is restored by this record from the archive.

    By the plan that it was archived under: an aggregate that came later never counted it.
    """
    mark, before = (
        image.get(RESTORED_MARK) if image else None for image in (record.new, record.old)
    )
    if mark is None or mark == before or record.new is None:
        return {}
    archived = {**record.new, "gen": mark["M"]["gen"]}
    reading = PlannedImage.parse(archived, ledger)
    kept = _list_kept_aggregates(reading.plan)
    return {
        tally: amount
        for tally, amount in (reading.amounts.items() if kept else ())
        if slots.TallyName.parse(tally).aggregate in kept
    }


def _list_kept_aggregates(plan: EntityPlan | None) -> frozenset[str]:
    aggregates = plan.aggregates if plan else ()
    return frozenset(each.name for each in aggregates if each.on_expiry == "keep")
