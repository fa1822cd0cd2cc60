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
from daicho.storage.protocols import (
    GetsItems,
    ObjectVersion,
    RewritesObjectVersions,
    UpdatesItems,
    try_update,
)
from daicho.stream import claims
from daicho.stream.claims import ShardClaims
from daicho.stream.failed_batch import (
    DONE_PREFIX,
    JSON_CONTENT_TYPE,
    ON_FAILURE_PREFIX,
    split_by_tenant,
)
from daicho.stream.records import render_sequence

ATTEMPTS = 4
_log = logging.getLogger(__name__)


class FailurePayloadTable(GetsItems, UpdatesItems, Protocol):
    """What this needs of the table."""


class FailurePayloadBucket(RewritesObjectVersions, Protocol):
    """What this needs of the bucket."""


@dataclass
class FailurePayloads:
    """The failure bucket, and the claims on what lies in it.

    ``noting`` is called before anything is removed.
    """

    store: FailurePayloadTable
    objects: FailurePayloadBucket
    tenant: str
    noting: Callable[[], None]
    now: Callable[[], dt.datetime]

    def list_payloads(self, behind: str) -> Iterator[tuple[str, list[ObjectVersion]]]:
        """The objects that may hold anything, behind a name, with their versions."""
        for prefix in sorted((ON_FAILURE_PREFIX, DONE_PREFIX, claims.QUARANTINE_PREFIX)):
            if prefix < behind and not behind.startswith(prefix):
                continue
            begin = behind if behind.startswith(prefix) else ""
            found = self.objects.list_versions(prefix, behind=begin)
            for name, group in groupby(found, key=lambda each: each.name):
                yield name, [each for each in group if not each.removal]

    def remove_records(self, name: str, versions: Sequence[ObjectVersion]) -> int:
        """Take the tenant's records out of an object; gives how many those were.

        Raises:
            UnavailableError: it is not known to be done; it may be done again.
        """
        older = [each for each in versions if not each.newest]
        newest = [each for each in versions if each.newest]
        going = [each for each in older if self._has_records(each)]
        if going:
            self.noting()
            self.objects.remove_versions(going)
        return len(going) + sum(self._remove_from_newest(each) for each in newest)

    def _remove_from_newest(self, version: ObjectVersion) -> int:
        name = version.name
        for _ in range(ATTEMPTS):
            found = self.objects.fetch(name)
            if found is None:
                return 0
            parts = split_by_tenant(found.body, self.tenant)
            if not parts.records:
                return 0
            self.noting()
            for record in parts.records:
                self._finish_claim(parts.shard, record)
            if parts.rest is not None and not self.objects.replace(
                name, parts.rest, found.metadata, found.etag, JSON_CONTENT_TYPE
            ):
                continue  # somebody was faster
            every = [each for each in self.objects.list_versions(name) if each.name == name]
            kept = [each for each in every if parts.rest is not None and each.newest]
            # Not the newest first: the one before it would be read in its place.
            self.objects.remove_versions([each for each in every[::-1] if each not in kept])
            return len(parts.records)
        raise UnavailableError(f"others are at {name}, again and again")

    def _has_records(self, version: ObjectVersion) -> bool:
        found = self.objects.fetch(version.name, version.id)
        return found is not None and bool(split_by_tenant(found.body, self.tenant).records)

    def _finish_claim(self, shard: str, record: Mapping[str, Any]) -> None:
        """Make a record's claim done, if it has one."""
        label = record["eventSourceARN"].rsplit("/", 1)[-1]
        seq = render_sequence(label, record["dynamodb"]["SequenceNumber"])
        for _ in range(ATTEMPTS):
            stands = ShardClaims.from_item(
                shard, self.store.get(claims.build_shard_key(shard), consistent=True)
            )
            claim = stands.claims.get(seq)
            if claim is None or claim.state == "done":
                return
            if try_update(self.store, claims.finish_update(shard, claim, self.now())):
                return
        raise UnavailableError(f"the claim on {seq} of {shard} does not become done")
