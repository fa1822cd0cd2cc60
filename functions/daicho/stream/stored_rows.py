"""The derived items that the table has of a base item, whatever its images derive (rule 38)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from daicho.layout.item_keys import render_derived_partition
from daicho.runtime.retry import Mapper, RetryBudget, retry
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.protocols import QueriesItems
from daicho.storage.requests import Query
from daicho.stream.changes import RecordChanges, list_repaired
from daicho.stream.records import get_entity

_READ = ("PK", "SK", "seq", "ttl", "GSI2PK")
StoredKeys = Mapping[ItemKey, Collection[ItemKey]]
"""By base item, the keys of all derived items that the table has of it."""


def list_stored_rows(store: QueriesItems, key: ItemKey, entities: Iterable[str]) -> Iterator[Image]:
    """The derived items of a base item, tombstones included, without what they copy.

    They are read consistently, whichever code has written them. ``entities``: those that the base
    item is of, or was of.

    Raises:
        StoreError: the table does not answer.
    """
    for entity in entities:
        try:
            partition = keys.check_partition(render_derived_partition(key, entity))
        except (ValueError, keys.KeyTooLongError):
            continue  # no code derives anything of such a key
        for page in store.query_pages(Query(partition, consistent=True, attributes=_READ)):
            yield from page.items


def read_repaired(
    store: QueriesItems, batch: Iterable[RecordChanges], budget: RetryBudget, map_all: Mapper
) -> StoredKeys:
    """What the table has of the items that a batch repairs. It is read after the announcement.

    Raises:
        UnavailableError: the table does not answer.
    """
    repaired = list_repaired(batch)
    entities: defaultdict[ItemKey, set[str]] = defaultdict(set)
    for changes in batch:
        record = changes.record
        if record.key in repaired:
            names = {get_entity(record.old), get_entity(record.new)}
            entities[record.key] |= {name for name in names if name is not None}

    def read(key: ItemKey) -> list[ItemKey]:
        rows = partial(list_stored_rows, store, key, sorted(entities[key]))
        return retry(lambda: [get_key(row) for row in rows()], budget)

    return dict(zip(entities, map_all(read, entities), strict=True))
