"""The log of operator actions: one item for each, which DynamoDB's TTL process removes.

::

    PK #operations   SK <ULID>   at, user, action, target, detail, ttl

The item is written before the action, so no action is without one. Its result follows.
"""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ulid import ULID

from daicho.errors import BadCursor, Refusal, StoreError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import apply_update, try_put
from daicho.storage.requests import Put, Query, Update, to_key_image
from daicho.storage.table import Table

LOG = keys.render("", "operations")
"""The partition of all actions. No tenant has an empty name."""
RETENTION = dt.timedelta(days=90)
STARTED = "started"
"""The detail of an action whose result is not known, or not yet."""
MAX_DETAIL_CHARACTERS = 1_000
_ULID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class OperatorAction:
    """One action. ``detail``: its result in words, `STARTED` until it is known."""

    id: str
    at: str
    user: str
    action: str
    target: str
    detail: str = STARTED

    @property
    def key(self) -> ItemKey:
        """Its item. Ids sort by time."""
        return ItemKey(LOG, self.id)

    def to_image(self, expires_at: dt.datetime) -> Image:
        """The item."""
        values = {**vars(self), "ttl": int(expires_at.timestamp())}
        return {**to_key_image(self.key), **attributes.to_image(values)}

    @classmethod
    def from_image(cls, image: Image) -> OperatorAction:
        """Read an item."""
        names = ("id", "at", "user", "action", "target", "detail")
        return cls(*(attributes.get_text(image, name) or "" for name in names))


@dataclass(frozen=True)
class ActionLog:
    """The log of one table."""

    store: Table
    now: Callable[[], dt.datetime]

    def run(
        self,
        user: str,
        action: str,
        target: str,
        work: Callable[[], T],
        describe: Callable[[T], str] = lambda _: "done",
    ) -> T:
        """Do ``work`` between the two writes of its entry; returns its result.

        Raises:
            StoreError: the entry cannot be written, so nothing was done; or ``work`` raised it.
        """
        now = self.now()
        entry = OperatorAction(
            str(ULID.from_datetime(now)), keys.render_instant(now), user, action, target
        )
        image = entry.to_image(now + RETENTION)
        # Refused, it is there already: the client has repeated the put after a lost response.
        try_put(self.store, Put(image, "attribute_not_exists(PK)"))
        try:
            result = work()
        except Refusal as refusal:
            self._finish(entry, f"refused: {refusal.detail}")
            raise
        except Exception as error:
            self._finish(entry, f"failed: {type(error).__name__}")
            raise
        self._finish(entry, describe(result))
        return result

    def list_page(
        self, cursor: str | None, limit: int
    ) -> tuple[list[Mapping[str, Any]], str | None]:
        """A page of actions, newest first, and the cursor of the next one.

        Raises:
            BadCursor: the cursor is none of this list.
        """
        if cursor is not None and not _ULID.fullmatch(cursor):
            raise BadCursor
        query = Query(LOG, below=cursor, forward=False, limit=limit, consistent=True)
        page = next(iter(self.store.query_pages(query)))
        actions: list[Mapping[str, Any]] = [
            vars(OperatorAction.from_image(item)) for item in page.items
        ]
        return actions, str(actions[-1]["id"]) if actions and page.last else None

    def _finish(self, entry: OperatorAction, detail: str) -> None:
        """Write the result. The action is over, so a failure here does not fail the request."""
        update = Update(
            entry.key,
            "SET #detail = :detail",
            "attribute_exists(PK)",
            {"#detail": "detail"},
            {":detail": {"S": detail[:MAX_DETAIL_CHARACTERS]}},
        )
        try:
            apply_update(self.store, update)
        except StoreError as error:
            _log.warning("the result of action %s is not recorded: %s", entry.id, error)
