"""Writing a derived item: fenced by the number of the record that caused it (EXACTNESS rule 6)."""

from __future__ import annotations

import datetime as dt
from typing import Protocol

from daicho.errors import ConditionFailedError
from daicho.layout.retention import TOMBSTONE_RETENTION
from daicho.storage import attributes
from daicho.storage.protocols import PutsItems
from daicho.storage.requests import to_key_image
from daicho.stream.batch_fold import DerivedWrite
from daicho.tally import slots


class DerivedItemTable(PutsItems, Protocol):
    """The operations of the table that this needs."""


def write_derived_item(store: DerivedItemTable, write: DerivedWrite, now: dt.datetime) -> None:
    """Put the row, or a tombstone even where no item existed; never over an equal or newer item."""
    item = {**to_key_image(write.key), "seq": {"S": write.seq}}
    if write.row is None:
        item["ttl"] = attributes.to_value(int((now + TOMBSTONE_RETENTION).timestamp()))
    else:
        item |= write.row.attributes
    try:
        store.put(item, condition=f"{slots.FENCE}:seq", values={":seq": {"S": write.seq}})
    except ConditionFailedError:
        return
