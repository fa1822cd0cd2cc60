"""The rows of items, compared while writes continue: which are damaged, and which are only late.

While the table is scanned, the rows of each item are compared with what its image derives. An item
that differs is a suspect, as its record may be on its way. Suspects are checked again in the order
of rule 35: the base item, heartbeats through every shard, the rows, the base item once more. If
both readings of the base item are one image, its rows differ for good.

An item that does not exist has no version that shows a change. So a row of it is damage only if its
number was announced before the first reading, or if no batch can have announced it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace

from daicho.derive.derived_items import IndexRow
from daicho.layout.backfill_state import BackfillState
from daicho.layout.base_item import to_seconds
from daicho.layout.item_keys import render_derived_partition
from daicho.layout.retention import FENCED
from daicho.plan import Ledger, NewerGenerationError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.requests import Query
from daicho.stream.changes import PlannedImage
from daicho.stream.claims import ShardClaims
from daicho.stream.heartbeat_watcher import HeartbeatProgress
from daicho.stream.released_generations import learn_released
from daicho.stream.shard_items import has_discarded_batches, list_quarantined, read_shards
from daicho.stream.shard_progress import StreamProgress
from daicho.verify.base_items import find_faults
from daicho.verify.faults import Fault, parse_owner
from daicho.verify.findings import Kind
from daicho.verify.rows import RowRules
from daicho.verify.steps import VerifyDependencies

FEW_ROWS = 4
"""Rows that are read by their keys: half a unit each. A query takes at least as much."""
SET_ASIDE = "run daicho redrive first: records of the entity are set aside"
UNREADABLE = "put or delete the item, or run daicho redrive --dismiss"


DerivedRows = Mapping[ItemKey, Mapping[ItemKey, IndexRow]]
"""By base item, the rows that it derives, by their keys."""


@dataclass(frozen=True)
class StreamState:
    """How far the projector is, and what it has set aside, read at one time.

    ``waiting``: the entities of records that are set aside; "" stands for every entity.
    ``lowest``: records that any shard delivers for the first time have higher numbers, also one
    that creates an item again; "" if it is unknown. A record that is repeated may have a lower one.
    """

    items: Mapping[str, ShardClaims]
    waiting: frozenset[str]
    lowest: str

    @classmethod
    def read(
        cls, on: VerifyDependencies, heartbeats: HeartbeatProgress | None = None
    ) -> StreamState:
        """Read the shard items, and whether discarded batches are in the failure bucket.

        ``heartbeats``: the shard items that these have passed are not read again. A description of
        the stream may lack shards for a while.

        Raises:
            UnavailableError: a store does not answer.
        """
        items: Mapping[str, ShardClaims]
        if heartbeats is None:
            shards = on.stream.list_shards()
            items = read_shards(on.store, {shard.id for shard in shards})
            lowest = StreamProgress(shards, items).find_low_watermark()
        else:
            items, lowest = heartbeats.items, heartbeats.low_watermark
        closed = read_shards(on.store, sorted(set(list_quarantined(on.store)) - items.keys()))
        items = {**closed, **items}
        waiting = {claim.entity for item in items.values() for claim in item.open_claims}
        if has_discarded_batches(on.failures):
            waiting.add("")
        return cls(items, frozenset(waiting), lowest)

    @property
    def highest(self) -> str:
        """The highest number that a batch announced; "" if none did."""
        return max((item.announced for item in self.items.values()), default="")

    def is_waiting(self, entity: str) -> bool:
        """Whether a record of an entity may be set aside."""
        return bool(self.waiting & {"", entity})


@dataclass(frozen=True)
class ItemRows:
    """Compares items with their rows. ``states``: the backfill items of the entities."""

    on: VerifyDependencies
    states: Mapping[str, BackfillState]
    _rules: dict[str, RowRules] = field(default_factory=dict)

    def find_faults(
        self,
        key: ItemKey,
        image: Image | None,
        stored: Sequence[Image],
        stream: StreamState,
        derived: Mapping[ItemKey, IndexRow] | None = None,
        *,
        is_whole: bool = True,
    ) -> list[Fault]:
        """What differs between an item and its rows, whether the rows are late or damaged.

        ``image``: None if the item does not exist. ``derived``: its rows, if they are known.
        ``is_whole``: False if ``stored`` are some of its rows: then none of the others is missing,
        and the item itself is not checked.

        Raises:
            UnavailableError: the table does not answer.
        """
        _, entity = parse_owner(key)
        ledger = self.on.ledger
        if derived is None:
            ledger = learn_released(self.on.store, ledger, [image])
        faults: list[Fault] = []
        try:
            faults += find_faults(ledger, image) if image is not None and is_whole else []
            expected = derive_rows(ledger, image) if derived is None else derived
        except NewerGenerationError as error:
            return [build_unreadable(key, error, "wait for the deployment, and verify again")]
        except Exception as error:  # whatever it is: no code computes the rows (rule 58)
            return faults or [build_unreadable(key, error, UNREADABLE)]
        rules = self._find_rules(ledger, entity, stream)
        if not is_whole:
            expected = {row: expected[row] for row in map(get_key, stored) if row in expected}
        rows = list(rules.compare(expected, stored))
        if image is None:  # what the deletion of a tenant has fenced refuses no row of an item
            rows = [fault for fault in rows if fault.found != FENCED]
            rows = [_describe_left_row(fault) for fault in rows]
        return faults + rows

    def _find_rules(self, ledger: Ledger, entity: str, stream: StreamState) -> RowRules:
        """The rules of an entity: the last ones, if nothing has changed since."""
        now, last = to_seconds(self.on.now()), self._rules.get(entity)
        if last is None or (last.highest, last.now) != (stream.highest, now):
            state = self.states.get(entity)
            purged = frozenset[str]() if state is None else state.purged
            last = RowRules.build(ledger, entity, purged, stream.highest, now)
            self._rules[entity] = last
        return last

    def read(self, key: ItemKey, *, consistent: bool) -> list[Image]:
        """The items of a base item's derived partition, tombstones included.

        Raises:
            UnavailableError: the table does not answer.
        """
        partition = render_derived_partition(key, parse_owner(key)[1])
        pages = self.on.store.query_pages(Query(partition, consistent=consistent))
        return [item for page in pages for item in page.items]

    def derive(self, items: Mapping[ItemKey, Image]) -> DerivedRows:
        """The rows that items derive; `find_faults` shows why those of an item are not known."""
        derived = {}
        for key, image in items.items():
            with suppress(Exception):  # whatever it is
                derived[key] = derive_rows(self.on.ledger, image)
        return derived

    def read_derived(self, derived: DerivedRows) -> Mapping[ItemKey, Sequence[Image]]:
        """The rows of items as they were a moment ago, by base item.

        Of an item that derives few rows only these are read, with those of others in one request:
        what it has besides is noticed when its rows are scanned.

        Raises:
            UnavailableError: the table does not answer.
        """
        stored: dict[ItemKey, Sequence[Image]] = {}
        few: dict[ItemKey, ItemKey] = {}
        for key, rows in derived.items():
            if len(rows) <= FEW_ROWS:
                few |= dict.fromkeys(rows, key)
            else:
                stored[key] = self.read(key, consistent=False)
        found: defaultdict[ItemKey, list[Image]] = defaultdict(list)
        for row, image in self.on.store.batch_get(few).require_all().items():
            found[few[row]].append(image)
        return {**stored, **found}


def derive_rows(ledger: Ledger, image: Image | None) -> Mapping[ItemKey, IndexRow]:
    """The rows of an image; none of an image that counts as absent.

    Raises:
        NewerGenerationError: the code is older than the image.
        Exception: any other means that no row can be computed.
    """
    return PlannedImage.parse(image, ledger).rows


def build_unreadable(key: ItemKey, error: Exception, decision: str) -> Fault:
    """The fault of an item whose rows cannot be computed: there is no verdict."""
    found = f"{type(error).__name__}: {error}"
    return Fault(Kind.UNREADABLE, key, "an item that can be read", found, decision, "undecided")


def is_same(one: Image | None, other: Image | None) -> bool:
    """Whether two readings of an item are one image, its version and generation included."""
    if one is None or other is None:
        return one is other
    return attributes.equal_images(one, other)


def may_be_new(
    rows: Sequence[Image], earlier: Sequence[Image], before: StreamState, after: StreamState
) -> bool:
    """Whether a row may be of a record that came after a reading of an item that did not exist.

    ``before``: read before the item. ``after``: once heartbeats had passed. A number above all
    that was announced by then is of no record if it was there at the check before: ``earlier``.
    """
    numbers, known = _list_numbers(rows), set(_list_numbers(earlier))
    return any(
        number > before.highest and (number <= after.highest or number not in known)
        for number in numbers
    )


def _list_numbers(rows: Sequence[Image]) -> list[str]:
    return [row.get("seq", {}).get("S", "") for row in rows]


def _describe_left_row(fault: Fault) -> Fault:
    if fault.kind is Kind.ROW_NOT_DERIVED:
        return replace(fault, kind=Kind.ROW_WITHOUT_ITEM, expected="nothing: no such item")
    return fault


def is_derived_partition(pk: str, ledger: Ledger) -> bool:
    """Whether a partition is one of rows: of an entity, with the whole key of its base item."""
    parts = keys.parse(pk)
    return len(parts) == 4 and parts[1][:1] == "~" and parts[1][1:] in ledger.entities
