"""Writes of one item as the API does them: if it is as it was read, and with its reservations."""

from __future__ import annotations

import datetime as dt

from daicho.errors import Conflict, ContendedError, TransactionFailedError
from daicho.layout.base_item import is_expired
from daicho.layout.reservation_writer import ReservationWriter
from daicho.plan import Ledger
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import Delete, Put
from daicho.storage.table import Table
from daicho.testing.oracle.expiry_rules import CHANGED_AT, RESTORED, build_right_ttl
from daicho.write.conditions import if_absent, if_unchanged


def write_item(
    table: Table, ledger: Ledger, key: ItemKey, item: Image | None, now: dt.datetime
) -> bool:
    """Put or delete (None) an item as code with a ledger does; False if it is refused.

    An item without a version is written without a condition: no figure depends on what it was.
    """
    stored = table.get(key, consistent=True)
    if "version" not in (stored or item or {}):
        table.delete(key) if item is None else table.put(item)
        return True
    if item is None and stored is None:
        return True
    entity = (item or stored or {})["type"]["S"]
    has_expired = stored is not None and is_expired(stored, int(now.timestamp()))
    if has_expired and entity in ledger.archived_types:
        return False  # it waits for the archive
    if item is not None and stored is not None:
        item = {**item, "version": {"N": str(int(stored["version"]["N"]) + 1)}}
        if not has_expired:
            item = _keep_creation(ledger, item, stored)
    condition = if_absent() if stored is None else if_unchanged(stored)
    write: Put | Delete = condition.to_delete(key) if item is None else condition.to_put(item)
    reserving = ReservationWriter.build(ledger, table, [(stored, item)], int(now.timestamp()))
    try:
        reserving.send([write], table.transact)
    except (Conflict, ContendedError, TransactionFailedError):
        return False
    return True


def _keep_creation(ledger: Ledger, item: Image, stored: Image) -> Image:
    """A new image of a stored item: created and restored when that was, with its expiry.

    Code that does not know the time of the last change leaves it as it is.
    """
    kept = {name: stored[name] for name in (CHANGED_AT, RESTORED) if name in stored}
    kept |= {name: item[name] for name in item if name != "ttl"}
    kept["created_at"] = stored["created_at"]
    plan = ledger.find_plan(item["type"]["S"], int(item["gen"]["N"]))
    return {**kept, **build_right_ttl(plan, kept)}
