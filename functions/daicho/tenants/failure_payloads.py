"""A tenant's payloads in the failure bucket: quarantined records, and parts of batches.

A record that has its own object is removed with the object, and its claim becomes done: nobody may
apply it any more, and it would have changed only the tenant's items. The tenant's records are cut
out of a batch that Lambda has given up, and the rest stays for the redrive. The bucket is
versioned, so older versions that hold the tenant's records are removed too.
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
    """The table operations that this removal needs."""


class FailurePayloadBucket(RewritesObjectVersions, Protocol):
    """The bucket operations that this removal needs."""


@dataclass
class FailurePayloads:
    """The failure bucket, and the claims on its payloads.

    ``noting`` is called before anything is removed.
    """

    store: FailurePayloadTable
    objects: FailurePayloadBucket
    tenant: str
    noting: Callable[[], None]
    now: Callable[[], dt.datetime]

    def list_payloads(self, behind: str) -> Iterator[tuple[str, list[ObjectVersion]]]:
        """The objects behind a name that may hold payloads, with their versions."""
        for prefix in sorted((ON_FAILURE_PREFIX, DONE_PREFIX, claims.QUARANTINE_PREFIX)):
            if prefix < behind and not behind.startswith(prefix):
                continue
            begin = behind if behind.startswith(prefix) else ""
            versions = self.objects.list_versions(prefix, behind=begin)
            for name, group in groupby(versions, key=lambda version: version.name):
                yield name, [version for version in group if not version.removal]

    def remove_records(self, name: str, versions: Sequence[ObjectVersion]) -> int:
        """Remove the tenant's records from an object. Returns the number of records.

        Raises:
            UnavailableError: the result is unknown; it may be repeated.
        """
        older = [version for version in versions if not version.newest]
        newest = [version for version in versions if version.newest]
        going = [version for version in older if self._has_records(version)]
        if going:
            self.noting()
            self.objects.remove_versions(going)
        return len(going) + sum(self._remove_from_newest(version) for version in newest)

    def _remove_from_newest(self, version: ObjectVersion) -> int:
        name = version.name
        for _ in range(ATTEMPTS):
            payload = self.objects.fetch(name)
            if payload is None:
                return 0
            parts = split_by_tenant(payload.body, self.tenant)
            if not parts.records:
                return 0
            self.noting()
            for record in parts.records:
                self._finish_claim(parts.shard, record)
            if parts.rest is not None and not self.objects.replace(
                name, parts.rest, payload.metadata, payload.etag, JSON_CONTENT_TYPE
            ):
                continue  # another writer was faster
            every = [entry for entry in self.objects.list_versions(name) if entry.name == name]
            kept = [entry for entry in every if parts.rest is not None and entry.newest]
            # The newest goes last: otherwise the version before it would be read instead.
            self.objects.remove_versions([entry for entry in every[::-1] if entry not in kept])
            return len(parts.records)
        raise UnavailableError(f"others are at {name}, again and again")

    def _has_records(self, version: ObjectVersion) -> bool:
        payload = self.objects.fetch(version.name, version.id)
        return payload is not None and bool(split_by_tenant(payload.body, self.tenant).records)

    def _finish_claim(self, shard: str, record: Mapping[str, Any]) -> None:
        """Set a record's claim to done, if it has one."""
        label = record["eventSourceARN"].rsplit("/", 1)[-1]
        seq = render_sequence(label, record["dynamodb"]["SequenceNumber"])
        for _ in range(ATTEMPTS):
            shard_claims = ShardClaims.from_item(
                shard, self.store.get(claims.build_shard_key(shard), consistent=True)
            )
            claim = shard_claims.claims.get(seq)
            if claim is None or claim.state == "done":
                return
            if try_update(self.store, claims.finish_update(shard, claim, self.now())):
                return
        raise UnavailableError(f"the claim on {seq} of {shard} does not become done")
