"""Clearing up behind a redrive: payloads, claims that were done long ago, marks."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Set
from typing import Protocol

from daicho.errors import UnavailableError
from daicho.storage.protocols import Gets, Updates, try_change
from daicho.stream import claims
from daicho.stream.claims import Shard
from daicho.stream.failed_batch import done_name

CLAIMS_AT_ONCE = 100
_log = logging.getLogger(__name__)


class Store(Gets, Updates, Protocol):
    """What cleaning needs of the table."""


class Objects(Protocol):
    """What cleaning needs of the bucket."""

    def move(self, key: str, to: str) -> None:
        """Give an object another name."""


class Cleaning:
    """Clears up in one table and one bucket. All of it may be left undone, or done twice."""

    def __init__(self, store: Store, objects: Objects, *, now: Callable[[], dt.datetime]) -> None:
        self._store = store
        self._objects = objects
        self._now = now

    def put_away(self, payload: str) -> None:
        """Move the payload of a done claim to what was applied; left where it is, it harms none."""
        try:
            self._objects.move(payload, done_name(payload))
        except UnavailableError as error:
            _log.warning("payload left in place: %s", error)

    def clean(self, shard: str, held: Set[str] | None) -> None:
        """Remove the claims of a shard that are done for 72 hours, and its mark if none is open.

        Not those of records that lie in the on-failure bucket (``held``; None if nobody knows
        which those are): such a claim alone says that its record is done.
        """
        found = Shard.of(shard, self._store.get(claims.shard_key(shard), consistent=True))
        done = found.forgotten(self._now()) if held is not None else ()
        old = [claim for claim in done if held is not None and claim.seq not in held]
        for begin in range(0, len(old), CLAIMS_AT_ONCE):
            try_change(self._store, claims.forgetting(shard, old[begin : begin + CLAIMS_AT_ONCE]))
        if not found.open:
            try_change(self._store, claims.unmarking(shard, self._now()))
