"""Refuses reads of copies before every item has one (ADR 0123): an absent copy proves nothing."""

from __future__ import annotations

from daicho.errors import BeingBuilt
from daicho.layout.backfill_state import STATE_CACHE_S, BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.storage.item_cache import ItemCache
from daicho.storage.protocols import GetsItems


def check_copied(table: GetsItems, ledger: Ledger, item_cache: ItemCache, entity: str) -> None:
    """Check that an entity can be read: it is no copy, or a copy of every item, or was switched.

    Every item has a copy if no item is of a generation before the copy began.

    Raises:
        BeingBuilt: items may lack their copies.
    """
    copy = ledger.copies_by_target.get(entity)
    if copy is None or copy.is_switched:
        return
    key = build_backfill_key(copy.source)
    item = item_cache.get(key, STATE_CACHE_S, lambda: table.get(key, consistent=True), absence=True)
    if BackfillState.from_item(copy.source, item, ledger).oldest < copy.since:
        raise BeingBuilt(
            f"{entity} is being copied from {copy.source}: it does not include all items yet. Try "
            "again later"
        )
