"""Clearing up behind a redrive: payloads, claims that were done long ago, marks."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Set

from daicho.errors import UnavailableError
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import try_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.failed_batch import render_done_name
from daicho.stream.shard_reader import read_shard

MAX_CLAIMS_PER_RUN = 100
_log = logging.getLogger(__name__)


class ClaimCleanup:
    """Clears up in one table and one bucket. All of it may be left undone, or done twice."""

    def __init__(self, store: Table, objects: Bucket, *, now: Callable[[], dt.datetime]) -> None:
        self._store = store
        self._objects = objects
        self._now = now

    def archive_payload(self, payload: str) -> None:
        """Move the payload of a done claim to the applied ones; one left in place does no harm."""
        try:
            self._objects.move(payload, render_done_name(payload))
        except UnavailableError as error:
            _log.warning("payload left in place: %s", error)

    def expire_claims(self, shard: str, held: Set[str] | None) -> None:
        """Remove the claims of a shard that are done for 72 hours, and its mark if none is open.

        It keeps the claims of records that are in the on-failure bucket (``held``; None if they
        are not known): only such a claim shows that its record is done.
        """
        shard_claims = read_shard(self._store, shard)
        done = shard_claims.list_expired(self._now()) if held is not None else ()
        old = [claim for claim in done if held is not None and claim.seq not in held]
        for begin in range(0, len(old), MAX_CLAIMS_PER_RUN):
            try_update(
                self._store,
                claims.expire_claims_update(shard, old[begin : begin + MAX_CLAIMS_PER_RUN]),
            )
        if not shard_claims.open:
            try_update(self._store, claims.unlist_shard_update(shard, self._now()))
