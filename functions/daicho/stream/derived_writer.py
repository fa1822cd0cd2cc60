"""Writing a derived item: fenced by the number of the record that caused it (EXACTNESS rule 6)."""

from __future__ import annotations

import datetime as dt
from typing import Protocol

from daicho.errors import ConditionFailedError
from daicho.layout.tombstone import TOMBSTONE_RETENTION
from daicho.storage import attributes
from daicho.storage.protocols import PutsItems
from daicho.storage.requests import to_key_image
from daicho.stream.batch_fold import DerivedWrite
from daicho.tally import slots


class DerivedItemTable(PutsItems, Protocol):
    """What this needs of the table."""


def write_derived_item(store: DerivedItemTable, write: DerivedWrite, now: dt.datetime) -> None:
    """Put, or leave a tombstone even where nothing stood; not over what is as new or newer."""
    item = {**to_key_image(write.key), "seq": {"S": write.seq}}
    if write.row is None:
        item["ttl"] = attributes.to_value(int((now + TOMBSTONE_RETENTION).timestamp()))
    else:
        item |= write.row.attributes
    try:
        store.put(item, condition=f"{slots.FENCE}:seq", values={":seq": {"S": write.seq}})
    except ConditionFailedError:
        return
