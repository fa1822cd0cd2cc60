"""Code that writes an older generation than the newest, because it was rolled back (rule 26)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from daicho.layout.backfill_state import STATE_CACHE_S, lower_oldest_update
from daicho.plan import Ledger
from daicho.storage.protocols import UpdatesItems, try_update

READERS_KNOW_S = STATE_CACHE_S + 1.0
"""Seconds after which every reader knows of a change of a backfill item: it may have read the item
just before, and its clock may be a little late."""
_log = logging.getLogger(__name__)


def admit_older_writers(
    store: UpdatesItems, ledger: Ledger, sleep: Callable[[float], None]
) -> None:
    """Record that this code writes older generations than the newest, because it was rolled back.

    It is called before such code writes anything. From then on, readers know that instances of
    the newer generation may lack items. Usually there is no such entity, and nothing is called.

    Raises:
        StoreError: the table does not answer.
    """
    lowered = [
        entity
        for entity, generation in ledger.written.items()
        if try_update(store, lower_oldest_update(entity, generation))
    ]
    if lowered:
        _log.warning("older generations are written of %s", ", ".join(lowered))
        sleep(READERS_KNOW_S)
