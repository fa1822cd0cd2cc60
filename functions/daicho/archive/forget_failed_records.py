"""What is left of a tenant in the failure bucket: records that were set aside or given up.

Such a record is worth keeping until it is applied: its payload is all that there is of it. So
what still waits for a redrive is named and left, and everything else goes: what was applied
(``done/``), and older versions of all. A batch of several tenants goes on without the tenant's
records. In that order nothing is lost: `daicho redrive`, then this.
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
    """What this needs of the bucket."""


@dataclass
class FailedRecordReport:
    """What went, or, of a dry run, would go.

    ``records`` of ``objects`` that were applied, and older ``versions``. ``waiting`` names objects
    with records of the tenant that nobody has applied yet. An object that holds no records
    that can be read is nobody's; `daicho redrive` names it.
    """

    tenant: str
    dry_run: bool = False
    objects: int = 0
    records: int = 0
    versions: int = 0
    waiting: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing of the tenant is left in the bucket."""
        return not (self.dry_run or self.waiting)

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {**vars(self), "complete": self.complete}


@dataclass(frozen=True)
class FailedRecordForgetter:
    """The failure bucket, and the table that says of its payloads which are applied."""

    store: GetsItems
    bucket: FailedRecordBucket
    now: Callable[[], dt.datetime] = utc_now

    def forget(
        self,
        tenant: str,
        *,
        dry_run: bool = False,
        tell: Callable[[FailedRecordReport], None] = lambda _: None,
    ) -> FailedRecordReport:
        """Take a tenant's records out of the bucket.

        May be stopped, and run again. ``tell`` hears of the report after each object.

        Raises:
            UnavailableError: the table or the bucket does not do it; run it again.
        """
        report = FailedRecordReport(tenant, dry_run)
        for _, group in groupby(self.bucket.list_versions(""), key=lambda version: version.name):
            for version in [each for each in group if not each.removal]:
                self._forget(version, report)
            tell(report)
        return report

    def _forget(self, version: ObjectVersion, report: FailedRecordReport) -> None:
        name = version.name
        found = self.bucket.fetch(name, version.id)
        if found is None:
            return
        parts = split_by_tenant(found.body, report.tenant)
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
            rest = (name, parts.rest, found.metadata, found.etag, JSON_CONTENT_TYPE)
            if not self.bucket.replace(*rest):
                raise UnavailableError(f"another is at {name}")
        # The version that was read, whether it is the newest still or has become an older one.
        self.bucket.remove_versions([version])

    def _is_applied(self, version: ObjectVersion) -> bool:
        """Whether nobody will ever ask for an object that is there to be applied."""
        if version.name.startswith(DONE_PREFIX):
            return True
        found = _PAYLOAD.fullmatch(version.name)
        if found is None:
            return False
        key = claims.build_shard_key(found["shard"])
        shard = ShardClaims.from_item(found["shard"], self.store.get(key, consistent=True))
        claim = shard.claims.get(f"{found['label']}#{found['number']}")
        if claim is None:  # about to be put; or it was done, and that was long ago
            return version.modified < self.now() - DONE_CLAIM_RETENTION
        return claim.state == "done"
