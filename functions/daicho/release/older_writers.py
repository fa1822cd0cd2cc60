"""Code that writes an older generation than the newest, because it was rolled back (rule 26)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from threading import Lock

from daicho.errors import ConditionFailedError, UnavailableError
from daicho.layout.backfill_state import (
    STATE_CACHE_S,
    BackfillState,
    count_older_update,
    lower_oldest_update,
)
from daicho.plan import Ledger
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.clock import ClockReading, read_clocks
from daicho.storage.protocols import UpdatesItems, apply_update
from daicho.storage.table import Table

READERS_KNOW_S = STATE_CACHE_S + 1.0
"""Seconds after which every reader knows of a change of a backfill item: it may have read the item
just before, and its clock may be a little late."""
LEASE_S = 5.0
"""How long an announcement is valid, in seconds."""
ANNOUNCEMENT_ATTEMPTS = 4
_log = logging.getLogger(__name__)


class OlderWriters:
    """Announces, before anything is written, that this code writes older generations.

    From the first announcement on, readers know that instances of the newer generation may lack
    items. Each of them is valid for `LEASE_S`, by both clocks of the writer: after its execution
    environment was frozen, none is. So a rebuild that saw none for longer than that, and than a
    request takes, knows that no such code writes.

    ``entities``: those that are written; by default all of which the code writes older generations.
    """

    def __init__(
        self,
        store: UpdatesItems,
        ledger: Ledger,
        sleep: Callable[[float], None],
        entities: Iterable[str] | None = None,
        clocks: Callable[[], ClockReading] = read_clocks,
    ) -> None:
        chosen = set(ledger.written if entities is None else entities)
        self._written = {name: n for name, n in ledger.written.items() if name in chosen}
        self._store = store
        self._ledger = ledger
        self._sleep = sleep
        self._clocks = clocks
        self._announced: ClockReading | None = None
        self._completed: dict[str, str] = {}
        self._lock = Lock()

    @property
    def is_needed(self) -> bool:
        """Whether this code writes an older generation of any entity."""
        return bool(self._written)

    def announce_writes(self, table: Table) -> Table:
        """The table with an announcement before each write, if it is needed; the first is made now.

        Raises:
            ReleaseRefusedError, StoreError: see `announce`.
        """
        if not self.is_needed:
            return table
        self.announce()
        return table.with_announcement(self.announce)

    def announce(self) -> None:
        """Announce, unless the last announcement is valid still; then wait until readers know.

        A function instance also waits if ``oldest`` was raised since its last announcement, or may
        have been: another instance may have lowered it just now.

        Raises:
            ReleaseRefusedError: a newer ledger was released, which this function instance lacks.
            StoreError: the table does not answer.
        """
        with self._lock:
            if not self._written:
                return
            for _ in range(ANNOUNCEMENT_ATTEMPTS):
                if self._is_announced():
                    return
                self._announce_entities()
            if not self._is_announced():
                raise UnavailableError("announcing older generations takes longer than it is valid")

    def _is_announced(self) -> bool:
        """Whether the last announcement is valid still."""
        last = self._announced
        return last is not None and last.is_recent(self._clocks(), LEASE_S)

    def _announce_entities(self) -> None:
        """Announce all entities. If that takes long, the announcement is not valid at its end."""
        began = self._clocks()
        completed = dict(self._completed)
        unknown = [self._announce_entity(*each, completed) for each in self._written.items()]
        if any(unknown):
            _log.warning("older generations are written of %s", ", ".join(self._written))
            self._sleep(READERS_KNOW_S)
        self._completed, self._announced = completed, began

    def _announce_entity(self, entity: str, generation: int, completed: dict[str, str]) -> bool:
        """Announce one entity; returns whether readers may not know yet.

        ``completed``: by entity, when its ``oldest`` was raised last, as this instance knew it.
        """
        newest = self._ledger.newest_generation(entity).number
        try:
            item = apply_update(self._store, count_older_update(entity), returns="ALL_NEW")
        except ConditionFailedError:
            return False  # there is no backfill item: no reader relies on one
        state = BackfillState.parse(entity, item or {})
        is_unknown = completed.get(entity) != state.completed
        completed[entity] = state.completed
        if item is None or state.oldest <= generation:
            return is_unknown
        try:
            apply_update(self._store, lower_oldest_update(entity, generation, newest))
        except ConditionFailedError as refused:
            state = BackfillState.parse(entity, refused.item or item)
            if state.oldest > generation:
                raise ReleaseRefusedError(
                    f"this code writes {entity} generation {generation} and knows generation "
                    f"{newest}, but generation {state.newest} was released, which may not derive "
                    "all of it: deploy this code with the newest lock file"
                ) from None
        return True
