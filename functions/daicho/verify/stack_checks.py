"""The phases that check what the stack keeps for itself: claims, and the archive."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from daicho.archive.reader import ArchiveReader, DayRange
from daicho.archive.verifier import KINDS, Verifier, VerifyFinding
from daicho.jobs.step import JobStep
from daicho.storage.attributes import ItemKey
from daicho.stream.claims import (
    QUARANTINE_PREFIX,
    ShardClaims,
    build_shard_key,
    render_payload_name,
)
from daicho.stream.failed_batch import ON_FAILURE_PREFIX
from daicho.stream.shard_items import read_shard
from daicho.verify.findings import Finding, Kind, Verdict
from daicho.verify.item_rows import StreamState
from daicho.verify.steps import Phase

ARCHIVE_DAYS = 31
"""Days of deletion whose archive is verified. Older objects are in a class that costs more to
read: `daicho archive verify --since` reads them."""
REDRIVE = "run daicho redrive first"
OLDER_VERSION = "restore the object from its older version in the bucket"
OF_DISCARDED = "discarded"


class ClaimChecks(Phase):
    """Lists what is set aside, because nothing can be decided about it, and looks for its records.

    The audit of an open claim is that its payload exists. A claim that becomes done meanwhile has
    lost its payload rightly, so it is read again.
    """

    name = "claims"

    def run(self) -> JobStep | None:
        """Check the claims of all shards."""
        for shard, item in sorted(StreamState.read(self.on).items.items()):
            waiting = [c for c in item.open_claims if self.job.entity in ("", c.entity)]
            if waiting:
                entities = ", ".join(sorted({claim.entity or "?" for claim in waiting}))
                found = f"{len(waiting)} records of {entities} are set aside"
                self._add(Kind.OPEN_CLAIM, build_shard_key(shard), "no open claim", found, REDRIVE)
            for name in self._list_lost_payloads(shard, item):
                key = ItemKey(build_shard_key(shard).pk, name)
                self._add(
                    Kind.PAYLOAD, key, "the record of an open claim", "nothing", OLDER_VERSION
                )
        if name := next(self.on.failures.list_names(ON_FAILURE_PREFIX), ""):
            self._add(Kind.OPEN_CLAIM, ItemKey(name, ""), "no discarded batch", name, REDRIVE)
        self.step.save()
        return None

    def _list_lost_payloads(self, shard: str, item: ShardClaims) -> Iterator[str]:
        """The names of payloads that open claims of a shard have lost."""
        names = {
            render_payload_name(shard, claim.seq): claim.seq
            for claim in item.open_claims
            if claim.state != OF_DISCARDED
        }
        if not names:
            return
        missing = names.keys() - set(self.on.failures.list_names(f"{QUARANTINE_PREFIX}{shard}/"))
        if missing:
            still_open = {claim.seq for claim in read_shard(self.on.store, shard).open_claims}
            yield from sorted(name for name in missing if names[name] in still_open)

    def _add(self, kind: Kind, key: ItemKey, expected: str, found: str, decision: str) -> None:
        verdict: Verdict = "undecided" if kind is Kind.OPEN_CLAIM else "damage"
        finding = Finding(kind, "", key, expected, found, verdict, decision)
        self.step.add_findings([finding])


class ArchiveChecks(Phase):
    """Verifies the archive of the last days, day by day, if the whole table is verified.

    The rest of the days, and each day again, the audit verifies (`daicho.archive.audit`).
    """

    name = "archive"

    def run(self) -> JobStep | None:
        """Verify the days that are left; each counts once it is saved."""
        archive = self.on.archive
        if archive is None or self.job.tenant or not self.job.is_whole:
            return None
        left = self._list_left(archive)
        while left:
            if not self.budget.has_time_left:
                return JobStep(done=False)
            entity, day = left[0]
            days = DayRange.for_rows(dt.date.fromisoformat(day))
            report = Verifier(self.on.store, archive, now=self.on.now).verify(days, [entity])
            self.step.add_findings([_describe(each) for each in report.findings])
            self.job.places = {**self.job.places, self.name: left[1:]}
            self.step.save()
            left = left[1:]
        return None

    def _list_left(self, archive: ArchiveReader) -> list[list[str]]:
        """The entities and days that are not verified yet, oldest day first."""
        if self.name in self.job.places:
            return list(self.job.places[self.name])
        today = self.on.now().date()
        entities = sorted({*self.on.ledger.archived_types, *archive.list_entities()})
        return [
            [entity, (today - dt.timedelta(days=days_ago)).isoformat()]
            for days_ago in reversed(range(ARCHIVE_DAYS))
            for entity in entities
            if self.job.entity in ("", entity)
        ]


def _describe(finding: VerifyFinding) -> Finding:
    key = ItemKey(finding.name, finding.kind)
    expected = f"no {finding.kind}: {KINDS[finding.kind]}"
    return Finding(Kind.ARCHIVE, "", key, expected, finding.detail, "damage", OLDER_VERSION)
