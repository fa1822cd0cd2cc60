"""A tenant's records in the failure bucket: quarantined records, and batches that Lambda gave up.

A quarantined record has an object of its own, which is removed. From a batch of several tenants
only the tenant's records are removed, and the rest stays. The bucket is versioned, so older
versions that hold the tenant's records are removed too.

The object is the only copy of a record that is not applied yet. There are two ways to treat it:

- The deletion of a tenant removes all records. A record's claim becomes done before the record is
  removed: nobody may apply it any more, and it would have changed only the tenant's items.
- ``daicho archive forget`` removes only records that are applied, and reports the others. They wait
  for ``daicho redrive``; nothing is lost if that runs before.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby
from typing import Any

from daicho.errors import UnavailableError
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.bucket import Bucket
from daicho.storage.protocols import FetchedObject, ObjectVersion, try_update
from daicho.storage.table import Table
from daicho.stream import claims
from daicho.stream.claims import DONE_CLAIM_RETENTION, Claim
from daicho.stream.failed_batch import (
    DONE_PREFIX,
    JSON_CONTENT_TYPE,
    ON_FAILURE_PREFIX,
    TenantSplit,
    split_by_tenant,
)
from daicho.stream.records import render_sequence
from daicho.stream.shard_items import read_shard

PREFIXES = tuple(sorted((ON_FAILURE_PREFIX, DONE_PREFIX, claims.QUARANTINE_PREFIX)))
"""The beginnings of the names of all objects that hold records."""
ATTEMPTS = 4
Records = Sequence[Mapping[str, Any]]
_PAYLOAD = re.compile(r"quarantine/(?P<shard>[^/]+)/(?P<label>[^/]+)_(?P<number>\d+)\.json")


@dataclass
class FailedRecordReport:
    """What was removed. After a dry run: what a run would remove.

    ``records`` of ``objects`` that were applied, and older ``versions``. ``waiting`` names objects
    with records of the tenant that are not applied yet. An object without readable records belongs
    to no tenant; `daicho redrive` names it.
    """

    tenant: str
    dry_run: bool = False
    objects: int = 0
    records: int = 0
    versions: int = 0
    waiting: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether the bucket holds nothing of the tenant any more."""
        return not (self.dry_run or self.waiting)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {**vars(self), "complete": self.complete}


@dataclass(frozen=True)
class FailedRecordRemover:
    """The failure bucket, and the table with the claims on its records.

    ``before_removal`` is called before anything is removed from an object. With ``dry_run`` nothing
    is removed.
    """

    store: Table
    bucket: Bucket
    tenant: str
    now: Callable[[], dt.datetime] = utc_now
    before_removal: Callable[[], None] = lambda: None
    dry_run: bool = False

    def list_objects(
        self, behind: str = "", prefixes: Sequence[str] = PREFIXES
    ) -> Iterator[tuple[str, list[ObjectVersion]]]:
        """The objects behind a name that may hold records, with their versions, in order."""
        for prefix in prefixes:
            if prefix < behind and not behind.startswith(prefix):
                continue
            begin = behind if behind.startswith(prefix) else ""
            versions = self.bucket.list_versions(prefix, behind=begin)
            for name, group in groupby(versions, key=lambda version: version.name):
                yield name, [version for version in group if not version.removal]

    def remove_all(self, name: str, versions: Sequence[ObjectVersion]) -> int:
        """Remove the tenant's records from an object, applied or not.

        Returns the number of records, those of older versions included.

        Raises:
            UnavailableError: the result is unknown; it may be repeated.
        """
        older = self._remove_older(versions)
        records = self._remove_newest(name, versions, self._finish_claims)
        return older + len(records or ())

    def remove_applied(self) -> FailedRecordReport:
        """Remove the tenant's applied records from all objects of the bucket.

        It may be interrupted and called again.

        Raises:
            UnavailableError: the table or the bucket is unavailable; call it again.
        """
        report = FailedRecordReport(self.tenant, self.dry_run)
        # Also objects that somebody has copied to another name.
        for name, versions in self.list_objects(prefixes=("",)):
            report.versions += self._remove_older(versions)
            records = self._remove_newest(name, versions, self._is_applied)
            if records is None:
                report.waiting.append(name)
            elif records:
                report.objects += 1
                report.records += len(records)
        return report

    def _remove_older(self, versions: Sequence[ObjectVersion]) -> int:
        """Remove the older versions that hold records of the tenant; return their number."""
        older = [version for version in versions if not version.newest and self._read(version)]
        if older and not self.dry_run:
            self.before_removal()
            self.bucket.remove_versions(older)
        return len(older)

    def _remove_newest(
        self,
        name: str,
        versions: Sequence[ObjectVersion],
        prepare: Callable[[ObjectVersion, TenantSplit], bool],
    ) -> Records | None:
        """Remove the tenant's records from the newest version; return them.

        None if ``prepare`` returns False: the records have to stay.
        """
        for _ in range(ATTEMPTS):
            newest = _find_newest(versions)
            content = None if newest is None else self._read(newest)
            if newest is None or content is None:
                return ()
            payload, split = content
            if not prepare(newest, split):
                return None
            if self.dry_run or self._replace(newest, payload, split.rest):
                return split.records
            versions = self._list_versions(name)  # another writer was faster
        raise UnavailableError(f"{name} is changed by others again and again")

    def _read(self, version: ObjectVersion) -> tuple[FetchedObject, TenantSplit] | None:
        """The content of a version; None if it holds no records of the tenant."""
        payload = self.bucket.fetch(version.name, version.id)
        if payload is None:
            return None
        split = split_by_tenant(payload.body, self.tenant)
        return (payload, split) if split.records else None

    def _replace(self, newest: ObjectVersion, payload: FetchedObject, rest: bytes | None) -> bool:
        """Replace an object by the records of other tenants, or remove it if there are none.

        False if somebody else has written the object since it was read.
        """
        name = newest.name
        if rest is not None and not self.bucket.replace(
            name, rest, payload.metadata, payload.etag, JSON_CONTENT_TYPE
        ):
            return False
        versions = self._list_versions(name)
        current = _find_newest(versions)
        if rest is None and current is not None and current.id != newest.id:
            return False
        kept = None if rest is None else current
        # The newest goes last: otherwise the version before it would be read instead.
        self.bucket.remove_versions([version for version in versions[::-1] if version != kept])
        return True

    def _list_versions(self, name: str) -> list[ObjectVersion]:
        return [version for version in self.bucket.list_versions(name) if version.name == name]

    def _is_applied(self, version: ObjectVersion, _split: TenantSplit) -> bool:
        """Whether the records of an object are applied, so that no redrive needs it."""
        if version.name.startswith(DONE_PREFIX):
            return True
        match = _PAYLOAD.fullmatch(version.name)
        if match is None:
            return False
        claim = self._read_claims(match["shard"]).get(f"{match['label']}#{match['number']}")
        if claim is None:  # it is not written yet, or it was done and has expired
            return version.modified < self.now() - DONE_CLAIM_RETENTION
        return claim.state == "done"

    def _finish_claims(self, _version: ObjectVersion, split: TenantSplit) -> bool:
        """Set the claims of records to done, for those that have one."""
        self.before_removal()
        for record in split.records:
            label = record["eventSourceARN"].rsplit("/", 1)[-1]
            self._finish_claim(
                split.shard, render_sequence(label, record["dynamodb"]["SequenceNumber"])
            )
        return True

    def _finish_claim(self, shard: str, seq: str) -> None:
        for _ in range(ATTEMPTS):
            claim = self._read_claims(shard).get(seq)
            if claim is None or claim.state == "done":
                return
            if try_update(self.store, claims.finish_update(shard, claim, self.now())):
                return
        raise UnavailableError(f"the claim on {seq} of {shard} does not become done")

    def _read_claims(self, shard: str) -> Mapping[str, Claim]:
        return read_shard(self.store, shard).claims


def _find_newest(versions: Sequence[ObjectVersion]) -> ObjectVersion | None:
    """The version that reads return; None if there is none, or if the object is removed."""
    return next((entry for entry in versions if entry.newest and not entry.removal), None)
