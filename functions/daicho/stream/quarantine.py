"""Setting poison aside, so that nothing behind it waits (EXACTNESS rules 13, 14, 18).

The order is what makes it safe, whoever else is at the same records at the same time: a record's
payload, then its claim, then the batch's announcement, and only then anything that is derived or
counted. A claim that was put before anybody announced its record is one on a record that nobody
has counted; and who announces a record learns of all claims that were put before.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from daicho.errors import ConditionFailedError
from daicho.runtime.retry import Mapper, Patience, carry_out
from daicho.storage import keys
from daicho.storage.protocols import change_item
from daicho.storage.requests import Update
from daicho.stream import claims
from daicho.stream.changes import Poison
from daicho.stream.claim_writer import AnnouncedError, FullError, Store, put_claim
from daicho.stream.claims import Claim, Shard
from daicho.stream.records import StreamRecord

LONGEST_MESSAGE = 1_000
"""An error may name the value that it met, of up to 400 KB; a redrive's answer, of many errors, is
6 MB at most."""


class Objects(Protocol):
    """What the quarantine needs of the bucket."""

    def create(self, key: str, body: bytes, metadata: Mapping[str, str], kind: str) -> bool:
        """Create an object; False if one of that name exists."""


@dataclass(frozen=True)
class SetAside:
    """What became of a batch's poison.

    ``known``: every payload and claim is known to be written, up to ``stop``, the first record
    that there is no room for. ``claimed``: how many records have a claim by now.
    """

    known: bool = True
    stop: StreamRecord | None = None
    claimed: int = 0


class Quarantine:
    """The claims of one table, and their payloads in one bucket."""

    def __init__(self, store: Store, objects: Objects, *, now: Callable[[], dt.datetime]) -> None:
        self._store = store
        self._objects = objects
        self._now = now

    def set_aside(self, poison: Iterable[Poison], patience: Patience, each: Mapper) -> SetAside:
        """Lay all payloads down, then claim record after record in ascending order (rule 13)."""
        waiting = tuple(poison)
        if carry_out(waiting, self._lay_down, patience, each):
            return SetAside(known=False)
        for place, one in enumerate(waiting):
            try:
                if carry_out([one.record], self._claim, patience):
                    return SetAside(known=False, claimed=place)
            except FullError:
                return SetAside(stop=one.record, claimed=place)
        return SetAside(claimed=len(waiting))

    def announce(self, shard: str, last: str, patience: Patience) -> Shard | None:
        """Announce what is about to be written, and learn the shard's claims (rule 14).

        None if that is not known to have gone through: then nothing may be written.
        """
        found: list[Shard] = []

        def attempt(change: Update) -> None:
            try:
                image = change_item(self._store, change, "ALL_NEW")
                found.append(Shard.of(shard, image))
            except ConditionFailedError as refused:  # as much was announced already
                found.append(Shard.of(shard, refused.item))

        carry_out([claims.announcing(shard, last, self._now())], attempt, patience)
        return found[-1] if found else None

    def _claim(self, record: StreamRecord) -> None:
        """Claim a record that is poison, unless that was done before."""
        now = self._now()
        try:
            put_claim(self._store, record.shard, Claim.of(record, "open", now))
        except AnnouncedError:
            put_claim(self._store, record.shard, Claim.of(record, "uncertain", now))

    def _lay_down(self, poison: Poison) -> None:
        name = claims.payload_name(poison.record.shard, poison.record.seq)
        body = json.dumps(payload(poison, self._now()), ensure_ascii=False).encode()
        # What exists is the same record, with the error of who met it first.
        self._objects.create(name, body, {}, "application/json")


def payload(poison: Poison, now: dt.datetime) -> dict[str, Any]:
    """What is kept of a poison record: all of it, and what went wrong."""
    return {
        "shard": poison.record.shard,
        "record": poison.record.raw,
        "error": {**described(poison.error), "generation": poison.generation},
        "at": keys.instant(now),
    }


def described(error: Exception) -> dict[str, Any]:
    """An error as a report shows it."""
    return {"type": type(error).__name__, "message": str(error)[:LONGEST_MESSAGE]}
