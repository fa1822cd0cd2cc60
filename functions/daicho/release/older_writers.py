"""Code that writes an older generation than the newest, because it was rolled back (rule 26)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from daicho.errors import ConditionFailedError
from daicho.layout.backfill_state import STATE_CACHE_S, BackfillState, lower_oldest_update
from daicho.plan import Ledger
from daicho.release.refusals import ReleaseRefusedError
from daicho.storage.protocols import UpdatesItems, apply_update

READERS_KNOW_S = STATE_CACHE_S + 1.0
"""Seconds after which every reader knows of a change of a backfill item: it may have read the item
just before, and its clock may be a little late."""
_log = logging.getLogger(__name__)


def admit_older_writers(
    store: UpdatesItems,
    ledger: Ledger,
    sleep: Callable[[float], None],
    entities: Iterable[str] | None = None,
) -> None:
    """Record that this code writes older generations than the newest, because it was rolled back.

    It is called before such code writes anything. From then on, readers know that instances of
    the newer generation may lack items. Usually there is no such entity, and nothing is called.

    Each function instance waits, because another one may have recorded it just now.

    ``entities``: those that will be written; all by default.

    Raises:
        ReleaseRefusedError: a newer ledger was released, which this function instance lacks.
        StoreError: the table does not answer.
    """
    chosen = set(ledger.written if entities is None else entities)
    older = [
        entity
        for entity, generation in ledger.written.items()
        if entity in chosen
        and _lower_oldest(store, entity, generation, ledger.newest_generation(entity).number)
    ]
    if older:
        _log.warning("older generations are written of %s", ", ".join(older))
        sleep(READERS_KNOW_S)


def _lower_oldest(store: UpdatesItems, entity: str, generation: int, newest: int) -> bool:
    """Record that a generation is written; False if nobody knows which ones are."""
    try:
        apply_update(store, lower_oldest_update(entity, generation, newest))
    except ConditionFailedError as refused:
        if refused.item is None:
            return False
        state = BackfillState.parse(entity, refused.item)
        if state.oldest > generation:
            raise ReleaseRefusedError(
                f"this code writes {entity} generation {generation} and knows generation {newest}, "
                f"but generation {state.newest} was released, which may not derive all of it: "
                "deploy this code with the newest lock file"
            ) from None
    return True
