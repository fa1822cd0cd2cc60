"""What lies in the failure bucket of a tenant: quarantined records, and parts of batches.

A record of its own goes with its object, and its claim is made done: nobody is to apply it any
more, and it would have changed nothing but what is the tenant's. Of a batch that Lambda has given
up, the tenant's records are cut out, and the rest stays for the redrive. The bucket is versioned,
so older versions that hold any go too.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from daicho.errors import UnavailableError
from daicho.storage.protocols import Gets, RewritesVersions, Updates, Version, try_change
from daicho.stream import claims
from daicho.stream.claims import Shard
from daicho.stream.failed_batch import DONE, JSON, PREFIX, parted
from daicho.stream.records import sequence

ATTEMPTS = 4
_log = logging.getLogger(__name__)


class Store(Gets, Updates, Protocol):
    """What this needs of the table."""


class Objects(RewritesVersions, Protocol):
    """What this needs of the bucket."""


@dataclass
class Payloads:
    """The failure bucket, and the claims on what lies in it.

    ``noting`` is called before anything is removed.
    """

    store: Store
    objects: Objects
    tenant: str
    noting: Callable[[], None]
    now: Callable[[], dt.datetime]

    def names(self, behind: str) -> Iterator[tuple[str, list[Version]]]:
        """The objects that may hold anything, behind a name, with their versions."""
        for prefix in sorted((PREFIX, DONE, claims.QUARANTINED)):
            if prefix < behind and not behind.startswith(prefix):
                continue
            begin = behind if behind.startswith(prefix) else ""
            found = self.objects.versions(prefix, behind=begin)
            for name, group in groupby(found, key=lambda each: each.name):
                yield name, [each for each in group if not each.removal]

    def remove(self, name: str, versions: Sequence[Version]) -> int:
        """Take the tenant's records out of an object; gives how many those were.

        Raises:
            UnavailableError: it is not known to be done; it may be done again.
        """
        older = [each for each in versions if not each.newest]
        newest = [each for each in versions if each.newest]
        going = [each for each in older if self._holds(each)]
        if going:
            self.noting()
            self.objects.remove_versions(going)
        return len(going) + sum(self._newest(each) for each in newest)

    def _newest(self, version: Version) -> int:
        name = version.name
        for _ in range(ATTEMPTS):
            found = self.objects.fetch(name)
            if found is None:
                return 0
            parts = parted(found.body, self.tenant)
            if not parts.records:
                return 0
            self.noting()
            for record in parts.records:
                self._finish(parts.shard, record)
            if parts.rest is not None and not self.objects.replace(
                name, parts.rest, found.metadata, found.etag, JSON
            ):
                continue  # somebody was faster
            every = [each for each in self.objects.versions(name) if each.name == name]
            kept = [each for each in every if parts.rest is not None and each.newest]
            # Not the newest first: the one before it would be read in its place.
            self.objects.remove_versions([each for each in every[::-1] if each not in kept])
            return len(parts.records)
        raise UnavailableError(f"others are at {name}, again and again")

    def _holds(self, version: Version) -> bool:
        found = self.objects.fetch(version.name, version.id)
        return found is not None and bool(parted(found.body, self.tenant).records)

    def _finish(self, shard: str, record: Mapping[str, Any]) -> None:
        """Make a record's claim done, if it has one."""
        label = record["eventSourceARN"].rsplit("/", 1)[-1]
        seq = sequence(label, record["dynamodb"]["SequenceNumber"])
        for _ in range(ATTEMPTS):
            stands = Shard.of(shard, self.store.get(claims.shard_key(shard), consistent=True))
            claim = stands.claims.get(seq)
            if claim is None or claim.state == "done":
                return
            if try_change(self.store, claims.finishing(shard, claim, self.now())):
                return
        raise UnavailableError(f"the claim on {seq} of {shard} does not become done")
