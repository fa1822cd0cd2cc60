"""Items of an older generation that appear in the stream (EXACTNESS rules 30, 32).

Code that writes an older generation announces it (`daicho.release.older_writers`). A write may come
all the same without a valid announcement, for example from a machine that slept before it sent the
request. So the items themselves are observed.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from daicho.errors import ConditionFailedError, TransactionFailedError, UnavailableError
from daicho.layout.backfill_state import BackfillState, count_older_update, find_older_update
from daicho.layout.marks import is_repair
from daicho.plan import Ledger
from daicho.runtime.retry import Mapper, RetryBudget, retry
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.storage.protocols import apply_update
from daicho.storage.requests import ConditionCheck, Write
from daicho.storage.table import Table
from daicho.stream.records import StreamRecord

NOTED_S = 5.0
"""For how long what was noted of an entity is not noted again, in seconds."""
READS_AT_ONCE = 100
T = TypeVar("T")
_NO_VALUE: AttributeValue = {}
_log = logging.getLogger(__name__)


class OlderImages:
    """Notes in the backfill item that items of an older generation exist.

    A rebuild under way then makes another pass: it is complete only if nothing was noted since its
    last pass was requested. If a rebuild was complete already, ``oldest`` is lowered, so that no
    reader uses an instance that lacks the item.

    A generation of an entity that was noted is not noted again for `NOTED_S`. A rebuild that did
    not count the first of such items fails its last condition. One that counted it waits longer
    than that before its last pass begins (`QUIET_S`, or the settle time), so this pass finds them
    all.
    """

    def __init__(
        self,
        store: Table,
        ledger: Ledger,
        now: Callable[[], dt.datetime],
        map_all: Mapper = map,
    ) -> None:
        self._store = store
        self._now = now
        self._map = map_all
        self._older = {
            entity: {str(each.number): each.number for each in generations[:-1]}
            for entity, generations in ledger.entities.items()
            if len(generations) > 1
        }
        self._noted: dict[tuple[str, int], dt.datetime] = {}

    def note(
        self, records: Iterable[StreamRecord], retry_budget: RetryBudget
    ) -> StreamRecord | None:
        """Note the older generations of which records wrote items that still have them.

        Returns the first record whose generation may not be noted; None if there is none.
        """
        undone: list[StreamRecord] = []
        for (entity, generation), found in self._group_older(records).items():
            try:
                self._note_records(entity, generation, found, retry_budget)
            except UnavailableError as error:
                _log.warning("not noted: %s", error)
                undone.append(found[0])
        return min(undone, key=lambda record: record.seq, default=None)

    def note_item(self, key: ItemKey, item: Image | None, retry_budget: RetryBudget) -> None:
        """Note the generation of a base item, which was just read, if it is an older one.

        Raises:
            UnavailableError: it may not be noted.
        """
        if item is None or (generation := self._find_older_generation(item)) is None:
            return
        entity = item["type"]["S"]
        if not self._is_noted(entity, generation):
            self._note(entity, generation, key, retry_budget)

    def _find_older_generation(self, image: Image) -> int | None:
        """The generation of an image, if it is an older one than the newest of its entity."""
        older = self._older.get(image.get("type", _NO_VALUE).get("S", ""))
        return None if older is None else older.get(image.get("gen", _NO_VALUE).get("N", ""))

    def _group_older(
        self, records: Iterable[StreamRecord]
    ) -> dict[tuple[str, int], list[StreamRecord]]:
        """The records with a new image of an older generation, by entity and generation."""
        groups: defaultdict[tuple[str, int], list[StreamRecord]] = defaultdict(list)
        if self._older:
            find = self._find_older_generation
            for record in records:
                image = record.new
                if is_repair(record.old, image):
                    continue  # it was of this generation before
                if image is not None and (generation := find(image)) is not None:
                    groups[image["type"]["S"], generation].append(record)
        return groups

    def _note_records(
        self,
        entity: str,
        generation: int,
        records: Sequence[StreamRecord],
        retry_budget: RetryBudget,
    ) -> None:
        """Note a generation, if one of the items still has it.

        A later write of another generation has a record of its own.

        Raises:
            UnavailableError: it may not be noted.
        """
        if self._is_noted(entity, generation):
            return
        keys = [*dict.fromkeys(record.key for record in reversed(records))]  # newest first
        some_keys = (keys[at : at + READS_AT_ONCE] for at in range(1, len(keys), READS_AT_ONCE))
        for some in (keys[:1], *some_keys):
            items = self._map(lambda key: self._read(key, retry_budget), some)
            for key, item in zip(some, items, strict=True):  # `map` reads only until it is found
                if item is None or self._find_older_generation(item) != generation:
                    continue
                if self._note(entity, generation, key, retry_budget):
                    return

    def _is_noted(self, entity: str, generation: int) -> bool:
        """Whether it was noted just before. A clock that was set back does not tell."""
        noted = self._noted.get((entity, generation))
        return noted is not None and 0 <= (self._now() - noted).total_seconds() < NOTED_S

    def _read(self, key: ItemKey, retry_budget: RetryBudget) -> Image | None:
        return _retry(lambda: self._store.get(key, consistent=True), retry_budget)

    def _note(self, entity: str, generation: int, key: ItemKey, retry_budget: RetryBudget) -> bool:
        """Note an item of an older generation; returns False if it has another one meanwhile.

        If a rebuild is complete, ``oldest`` is lowered only while the item has that generation. A
        rebuild may have touched it, and become complete, since it was read.
        """
        began = self._now()
        try:
            count = count_older_update(entity)
            state = _retry(lambda: apply_update(self._store, count, "ALL_NEW"), retry_budget)
        except ConditionFailedError:
            state = None  # there is no backfill item to rely on
        if state is not None and BackfillState.parse(entity, state).oldest > generation:
            lower = find_older_update(entity, generation, began)
            writes: list[Write] = [lower, _build_generation_check(key, generation)]
            try:
                _retry(lambda: self._store.transact(writes), retry_budget)
            except TransactionFailedError as refused:
                if 0 not in refused.refused:
                    return False
                # Another has just lowered it.
            else:
                _log.error(
                    "an item of an older generation was written after a rebuild: its lists and "
                    "totals answer again after another one",
                    extra={"entity": entity, "item": [key.pk, key.sk], "generation": generation},
                )
        self._noted[entity, generation] = began
        return True


def _build_generation_check(key: ItemKey, generation: int) -> ConditionCheck:
    """The condition that a base item has a generation."""
    value = attributes.to_value(generation)
    return ConditionCheck(key, "#gen = :gen", {"#gen": "gen"}, {":gen": value})


def _retry(work: Callable[[], T], retry_budget: RetryBudget) -> T:
    """Do one thing until it works, unless little time is left: then not once.

    Raises:
        UnavailableError: it may not be done.
    """
    if not retry_budget.has_time_left:
        raise UnavailableError("no time was left to note an older generation")
    return retry(work, retry_budget)
