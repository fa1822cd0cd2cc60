"""Code that writes an older generation than the newest, because it was rolled back (rule 26)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from daicho.errors import ConditionFailedError, DaichoError
from daicho.layout.backfill_state import STATE_CACHE_S, BackfillState, lower_oldest_update
from daicho.plan import Ledger
from daicho.storage.protocols import UpdatesItems, apply_update

READERS_KNOW_S = STATE_CACHE_S + 1.0
"""Seconds after which every reader knows of a change of a backfill item: it may have read the item
just before, and its clock may be a little late."""
_log = logging.getLogger(__name__)


class ReleaseRefusedError(DaichoError):
    """The ledger must not be used in this stage; nothing was changed."""


def admit_older_writers(
    store: UpdatesItems,
    ledger: Ledger,
    sleep: Callable[[float], None],
    entities: Iterable[str] | None = None,
) -> None:
    """Record that this code writes older generations than the newest, because it was rolled back.

    It is called before such code writes anything. From then on, readers know that instances of
    the newer generation may lack items. Usually there is no such entity, and nothing is called.

    Each function instance waits, because another one may have lowered the generation just now.

    ``entities``: those that will be written; all by default.

    Raises:
        ReleaseRefusedError: a newer ledger was released, which this function instance lacks.
        StoreError: the table does not answer.
    """
    chosen = set(ledger.written if entities is None else entities)
    written = {name: number for name, number in ledger.written.items() if name in chosen}
    if not written:
        return
    for entity, generation in written.items():
        newest = ledger.newest_generation(entity).number
        try:
            apply_update(store, lower_oldest_update(entity, generation, newest))
        except ConditionFailedError as refused:
            if refused.item is None:
                continue  # without a backfill item, items of every generation may exist
            state = BackfillState.parse(entity, refused.item)
            if state.oldest > generation:
                raise ReleaseRefusedError(
                    f"{entity} generation {generation} must not be written with a ledger whose "
                    f"newest one is {newest}, because generation {state.newest} was released: "
                    "deploy this code with the newest lock file"
                ) from None
        else:
            _log.warning("generation %s of %s is written", generation, entity)
    sleep(READERS_KNOW_S)
