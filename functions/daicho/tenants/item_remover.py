"""Removes the items of a tenant that the pages of a scan contain."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping

from daicho.errors import ConditionFailedError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage import keys
from daicho.storage.attributes import AttributeValue, Image, get_key
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table
from daicho.tenants.tombstones import DeletionAction, build_tombstone, choose_action

WRITES_PER_REQUEST = 25
"""The limit of BatchWriteItem."""
ITEMS_PER_PAGE = 1_000
"""Items that are read before the job's progress can be saved. DynamoDB's own page of 1 MB may hold
ten times as many to remove, and a round of those would exceed the time that a step reserves for its
end.
"""


def is_of_tenant(tenant: str, *, consistent: bool) -> Scan:
    """A scan of the whole table that returns the tenant's items.

    Every partition key starts with the tenant. Partitions cannot be listed, so the whole table is
    read.
    """
    values: Mapping[str, AttributeValue] = {":tenant": {"S": keys.render_prefix(tenant)}}
    return Scan(
        limit=ITEMS_PER_PAGE,
        consistent=consistent,
        filter="begins_with(PK, :tenant)",
        values=values,
    )


@dataclass
class ItemRemover:
    """Removes the items of a page. All of it may be repeated.

    ``before_removal`` is called before anything is removed. ``fences``: the projector's items
    become tombstones. Otherwise they wait, because the projector removes most of them itself, for
    the same units.
    """

    store: Table
    before_removal: Callable[[], None]
    now: Callable[[], dt.datetime]
    fences: bool
    pace: RateLimiter

    def __call__(self, page: ItemPage) -> Counter[str]:
        """Remove the items of a page.

        Returns how many ``items`` were removed, were ``fenced``, are ``tombstones`` already, or are
        ``waiting``.

        Raises:
            UnavailableError: not all items were removed; the page may be passed again.
        """
        actions = [(choose_action(item), item) for item in page.items]
        removed = [get_key(item) for action, item in actions if action is DeletionAction.GOES]
        live = [item for action, item in actions if action is DeletionAction.FENCED]
        stayed = len(actions) - len(removed) - len(live)
        counts = Counter(items=len(removed), tombstones=stayed)
        if removed or live:
            self.before_removal()
        for begin in range(0, len(removed), WRITES_PER_REQUEST):
            keys = removed[begin : begin + WRITES_PER_REQUEST]
            self.pace.wait(len(keys))
            self.store.batch_write(deletes=keys)
        counts["fenced" if self.fences else "waiting"] = len(live)
        for item in live if self.fences else ():
            self.pace.wait(1)
            self._write_tombstones(item)
        return counts

    def _write_tombstones(self, item: Image) -> None:
        write = build_tombstone(item, self.now())
        try:
            self.store.put(write.item, condition=write.condition or "", values=write.values)
        except ConditionFailedError:
            return  # it was changed since, or a repeat wrote it: the next pass reads it again
