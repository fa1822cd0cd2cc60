"""Commands that write base items with the lock file of a checkout, not of a deployed function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from daicho.layout.backfill_state import RECORDED_KEY, BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.release.older_writers import LEASE_S, OlderWriters
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.clock import ClockReading, read_clocks
from daicho.storage.attributes import Image
from daicho.storage.table import Table

REQUEST_TIMEOUT_S = 8.0
"""The timeout of a request of a command that writes base items, in seconds."""
REQUEST_ATTEMPTS = 3
"""How often such a request is sent. All of it is over before a rebuild relies on the last
announcement: see `daicho.rebuild.rebuild.QUIET_S`."""


class CommandAdmission:
    """Checks that a command may write items of some entities to a stage, as long as it writes.

    A release or a rebuild may come meanwhile. So `check` belongs before each write; it does nothing
    if the last check is not older than an announcement of older writers may be (rule 30).
    """

    def __init__(
        self,
        store: Table,
        ledger: Ledger,
        entities: Iterable[str],
        sleep: Callable[[float], None],
        clocks: Callable[[], ClockReading] = read_clocks,
    ) -> None:
        self._store, self._ledger, self._entities = store, ledger, tuple(entities)
        self._older = OlderWriters(store, ledger, sleep, self._entities, clocks)
        self._clocks = clocks
        self._checked: ClockReading | None = None
        self._lock = Lock()

    def check(self) -> None:
        """Check, and announce that older generations are written if they are.

        A table without any backfill item is of no stage that could be compared: all is accepted.

        Raises:
            ReleaseRefusedError: the stage has a generation that the lock file lacks, or the command
                would write a generation that the deployed stream consumers do not know yet.
            StoreError: the table does not answer.
        """
        with self._lock:
            now = self._clocks()
            if self._checked is None or not self._checked.is_recent(now, LEASE_S):
                # In one request: with one for each entity, a check of a busy table may be too old
                # at its end, and so repeated before each write.
                keys = {entity: build_backfill_key(entity) for entity in self._entities}
                read = self._store.batch_get([RECORDED_KEY, *keys.values()], consistent=True)
                items = read.require_all()
                for entity, key in keys.items():
                    self._check_entity(entity, items.get(key), RECORDED_KEY in items)
                self._checked = now
        self._older.announce()

    def _check_entity(self, entity: str, item: Image | None, is_recorded: bool) -> None:
        ledger = self._ledger
        if item is None and not is_recorded:
            return
        if item is None:
            raise ReleaseRefusedError(
                f"the stage does not have {entity} yet, so its stream would drop records: deploy "
                "first"
            )
        state = BackfillState.parse(entity, item)
        newest = ledger.newest_generation(entity).number
        if newest < state.newest:
            raise ReleaseRefusedError(
                f"this checkout knows {entity} generation {newest}, but the table may hold images "
                f"of generation {state.newest}: take the lock file that was deployed"
            )
        if ledger.current_generation(entity).number > state.newest:
            raise ReleaseRefusedError(
                f"this checkout would write {entity} generation {newest}, but the stage has "
                f"generation {state.newest}, so its stream would stop: deploy first"
            )
