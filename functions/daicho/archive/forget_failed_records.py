"""Removal of a tenant's records from the failure bucket: records set aside or given up.

The payload is the only copy of such a record, so it is kept until the record is applied. Records
that still wait for a redrive are reported and left. Everything else is removed: applied records
(``done/``), and older versions of all objects. A batch of several tenants stays without the
tenant's records. Nothing is lost if `daicho redrive` runs before this.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

from daicho.errors import UnavailableError
from daicho.runtime.clock import utc_now
from daicho.storage.protocols import GetsItems, ObjectVersion, RewritesObjectVersions
from daicho.stream import claims
from daicho.stream.claims import DONE_CLAIM_RETENTION, ShardClaims
from daicho.stream.failed_batch import DONE_PREFIX, JSON_CONTENT_TYPE, split_by_tenant

_PAYLOAD = re.compile(r"quarantine/(?P<shard>[^/]+)/(?P<label>[^/]+)_(?P<number>\d+)\.json")


class FailedRecordBucket(RewritesObjectVersions, Protocol):
    """The bucket operations that this removal needs."""


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
class FailedRecordForgetter:
    """The failure bucket, and the table that records which of its payloads are applied."""

    store: GetsItems
    bucket: FailedRecordBucket
    now: Callable[[], dt.datetime] = utc_now

    def forget(
        self,
        tenant: str,
        *,
        dry_run: bool = False,
        on_progress: Callable[[FailedRecordReport], None] = lambda _: None,
    ) -> FailedRecordReport:
        """Remove a tenant's records from the bucket.

        It may be stopped and run again. ``on_progress`` receives the report after each object.

        Raises:
            UnavailableError: the table or the bucket is unavailable; run it again.
        """
        report = FailedRecordReport(tenant, dry_run)
        for _, group in groupby(self.bucket.list_versions(""), key=lambda version: version.name):
            for version in [candidate for candidate in group if not candidate.removal]:
                self._forget(version, report)
            on_progress(report)
        return report

    def _forget(self, version: ObjectVersion, report: FailedRecordReport) -> None:
        name = version.name
        payload = self.bucket.fetch(name, version.id)
        if payload is None:
            return
        parts = split_by_tenant(payload.body, report.tenant)
        if not parts.records:
            return
        if version.newest and not self._is_applied(version):
            report.waiting.append(name)
            return
        if not version.newest:
            report.versions += 1
        else:
            report.objects += 1
            report.records += len(parts.records)
        if report.dry_run:
            return
        if version.newest and parts.rest is not None:
            rest = (name, parts.rest, payload.metadata, payload.etag, JSON_CONTENT_TYPE)
            if not self.bucket.replace(*rest):
                raise UnavailableError(f"another is at {name}")
        # Removes the version that was read, even if it is not the newest any more.
        self.bucket.remove_versions([version])

    def _is_applied(self, version: ObjectVersion) -> bool:
        """Whether the records of an object are applied, so that no redrive needs it."""
        if version.name.startswith(DONE_PREFIX):
            return True
        match = _PAYLOAD.fullmatch(version.name)
        if match is None:
            return False
        key = claims.build_shard_key(match["shard"])
        shard = ShardClaims.from_item(match["shard"], self.store.get(key, consistent=True))
        claim = shard.claims.get(f"{match['label']}#{match['number']}")
        if claim is None:  # its claim follows, or was done and has expired
            return version.modified < self.now() - DONE_CLAIM_RETENTION
        return claim.state == "done"
