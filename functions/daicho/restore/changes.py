"""Which change moves one item back: from both tables, without a write (rule 59)."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

from daicho.archive.closed_tenants import ClosedTenants
from daicho.archive.forget_requests import ForgetRequest, build_request_key
from daicho.layout.sections import Section
from daicho.plan import EntityPlan, Ledger
from daicho.restore.item_states import (
    ItemState,
    SkippedError,
    build_target,
    has_expired,
    has_same_content,
    is_same_life,
    read_number,
    read_state,
)
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.table import Table

Kind = Literal["change", "create", "delete"]
EXPIRY_MARGIN_S = 60.0
"""An item that expires so soon does not return: DynamoDB could remove it before a late write."""
MAX_WRITES_A_SECOND = 1_000
"""What DynamoDB writes to one partition key, and so to one item, in a second."""
SNAPSHOT_MARGIN_S = 60.0
"""How long before the named moment an item of the copy may have been read."""


@dataclass(frozen=True)
class ItemChange:
    """The change of one item.

    ``live``: the item as it was read, None if there was none; ``live_whole``: with the content that
    it points at. ``target``: the whole image that it gets, None if it is deleted. ``highest``: no
    earlier image of the item has a higher version. ``returns``: a life begins again that is over.
    """

    key: ItemKey
    plan: EntityPlan
    live: Image | None
    live_whole: Image | None
    target: Image | None
    sections: tuple[Section, ...] | None = None
    highest: int = 0
    returns: bool = False

    @property
    def kind(self) -> Kind:
        """What happens to the item."""
        if self.target is None:
            return "delete"
        return "create" if self.live is None else "change"


@dataclass(frozen=True)
class ChangePlanner:
    """Plans the changes of a run.

    ``at``: the moment that the items are moved back to. ``unreturnable``: lives that have an
    archived row which could not be restored, by key, with the reason.
    """

    copy: Table
    store: Table
    ledger: Ledger
    at: dt.datetime
    now: Callable[[], dt.datetime]
    tenants: ClosedTenants
    unreturnable: Mapping[ItemKey, str]

    def plan_from_tables(self, key: ItemKey) -> ItemChange | None:
        """The change of the item at a key, as both tables have it now; None if it needs none.

        Raises:
            SkippedError: it is not restored.
            StoreError: a table does not answer.
        """
        stored = self.copy.get(key, consistent=True)
        return self.plan_change(stored, self.store.get(key, consistent=True))

    def plan_change(self, stored: Image | None, live: Image | None) -> ItemChange | None:
        """The change that makes an item of ``live`` what the copy has, ``stored``.

        Raises:
            SkippedError: it is not restored.
            StoreError: a table does not answer.
        """
        now = self.now()
        is_over = stored is not None and has_expired(stored, now, EXPIRY_MARGIN_S)
        if stored is not None and is_over and not is_same_life(stored, live):
            stored = None
        either = live if stored is None else stored
        if either is None or (stored is None and has_expired(either, now)):
            return None  # DynamoDB's TTL removes what has expired
        key, plan = get_key(either), self.ledger.current_generation(either["type"]["S"]).plan
        if stored is None:
            self._check_tenant(key)
            return ItemChange(key, plan, live, self._read_live_whole(live), None)
        if stored == live:
            return None
        copy = read_state(self.copy, stored)
        if live is not None:
            with suppress(SkippedError):
                state = read_state(self.store, live)
                if has_same_content(self.ledger, copy, state, now):
                    return None
        if is_over:
            raise SkippedError("the item of that moment would have expired by now")
        self._check_tenant(key)
        return self._plan_return(key, plan, copy, live)

    def _plan_return(
        self, key: ItemKey, plan: EntityPlan, copy: ItemState, live: Image | None
    ) -> ItemChange:
        now, returns = self.now(), not is_same_life(copy.image, live)
        if returns and key in self.unreturnable:
            raise SkippedError(f"its archived row is not restored: {self.unreturnable[key]}")
        target = build_target(self.ledger, copy, live, now)
        if has_expired(target, now, EXPIRY_MARGIN_S):
            raise SkippedError("the item of that moment would have expired by now")
        highest = read_number(copy.image)
        if returns:  # what was written to this life until it ended is in no table
            seconds = (now - self.at).total_seconds() + SNAPSHOT_MARGIN_S
            highest += math.ceil(MAX_WRITES_A_SECOND * max(0.0, seconds))
        highest = max(highest, read_number(live))
        whole = self._read_live_whole(live)
        return ItemChange(key, plan, live, whole, target, copy.sections, highest, returns)

    def _read_live_whole(self, live: Image | None) -> Image | None:
        with suppress(SkippedError):
            return None if live is None else read_state(self.store, live).whole
        return live

    def _check_tenant(self, key: ItemKey) -> None:
        """Refuse the items of a tenant that was closed, or forgotten after the moment."""
        tenant = keys.parse(key.pk)[0]
        if self.tenants.is_closed(tenant):
            raise SkippedError("its tenant is closed")
        request = self.store.get(build_request_key(tenant), consistent=True)
        if request is not None and ForgetRequest.from_item(request).requested_at >= self.at:
            raise SkippedError("its tenant was forgotten after that moment")
