"""Whether totals include what was added to their tallies: a reader of totals must not see less."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from daicho.storage import keys
from daicho.storage.requests import Query
from daicho.storage.table import Table
from daicho.tally import slots
from daicho.tally.dirty_shards import remember_shards


def find_dirty_tally(
    store: Table, dirty_shards: int, instances: Iterable[str], until: dt.datetime
) -> str | None:
    """A tally that was counted in until a time, and was not rolled up since; None if there is none.

    ``instances``: how the keys of their tallies begin (`render_tally_prefix`). The index shows a
    mark a moment after it was set.

    Raises:
        StoreError: the table does not answer.
    """
    prefixes = tuple(instances)
    for tally in _list_marked(store, dirty_shards, keys.render_instant(until)):
        _, _, behind_tenant = tally.partition(keys.DELIMITER)
        if f"{behind_tenant}{keys.DELIMITER}".startswith(prefixes):
            return tally
    return None


def render_tally_prefix(entity: str, name: str, since: int) -> str:
    """How the keys of an instance's tallies begin behind the tenant."""
    return keys.render_prefix(f"+{entity}.{name}", str(since))


def _list_marked(store: Table, dirty_shards: int, until: str) -> Iterator[str]:
    """The tallies whose marks were set until a time."""
    for number in range(remember_shards(store, dirty_shards)):
        query = Query(slots.render_dirty_partition(number), index="GSI2", high=until)
        for page in store.query_pages(query):
            yield from (item["PK"]["S"] for item in page.items)
