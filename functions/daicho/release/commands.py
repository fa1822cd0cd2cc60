"""Commands that write base items with the lock file of a checkout, not of a deployed function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from daicho.layout.backfill_state import RECORDED_KEY, BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.release.older_writers import admit_older_writers
from daicho.release.refusals import ReleaseRefusedError
from daicho.storage.protocols import GetsItems, UpdatesItems


class CommandStore(GetsItems, UpdatesItems, Protocol):
    """What a check of a command's lock file needs of the table."""


def admit_command(
    store: CommandStore, ledger: Ledger, entities: Iterable[str], sleep: Callable[[float], None]
) -> None:
    """Check that a command may write items of these entities to a stage.

    A table without any backfill item is of no stage that could be compared: all is accepted.

    Raises:
        ReleaseRefusedError: the stage has a generation that the lock file lacks, or the command
            would write a generation that the deployed stream consumers do not know yet.
        StoreError: the table does not answer.
    """
    written = tuple(entities)
    for entity in written:
        if entity in ledger.copies or entity in ledger.copies_by_target:
            _check_copy(ledger, entity)
        item = store.get(build_backfill_key(entity), consistent=True)
        if item is None and store.get(RECORDED_KEY, consistent=True) is None:
            continue
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
    admit_older_writers(store, ledger, sleep, written)


def _check_copy(ledger: Ledger, entity: str) -> None:
    """Refuse to write items that have copies or are copies: a command writes one of the two."""
    source = ledger.copies.get(entity)
    copy = source or ledger.copies_by_target[entity]
    if source is None and copy.is_switched:
        return
    raise ReleaseRefusedError(
        f"{copy.source} moves to {copy.target}, so this command cannot write {entity}: write "
        f"{copy.target} after the switch"
    )
