"""Audit of the archive: once a day the last days are verified, however long it takes.

A *round* goes through the entities and days of deletion, one *partition* after the other. The
table holds its progress, so a round continues where a run ended, whether the run ran out of time,
failed, or lost its process. A partition that three runs have begun without success is skipped, so
that the other partitions are verified. Then the round is not complete, and its age keeps growing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from daicho.archive import reader
from daicho.archive.reader import ArchiveReader
from daicho.archive.verifier import Verifier, VerifyFinding, VerifyReport
from daicho.errors import DaichoError
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.protocols import FetchedObject, ListedObject
from daicho.storage.requests import to_key_image
from daicho.storage.table import Table

DAYS = 3
"""Today and the two days before: a record is archived, or given up by Lambda, within 22 hours."""
TRIES = 3
MAX_STORED = 50
"""The most findings of a round that the table keeps."""
MAX_DETAIL_CHARACTERS = 300
MAX_REPORTED = 500
"""The most findings in an answer or a log line: neither holds a million."""
FIRST_SHARE = 0.5
"""The share of a run's time that must be left before it begins another partition."""
MAX_AUDIT_AGE = dt.timedelta(hours=30)
"""There is a round a day, which takes some hours."""
ROUND_KEY = ItemKey(keys.render("", "audit"), "round")


class AuditInterruptedError(DaichoError):
    """Too little time is left for a verification."""


@dataclass(frozen=True)
class AuditPartition:
    """The unit of verification: an entity's deletions of one day."""

    entity: str
    day: dt.date

    @property
    def name(self) -> str:
        """Its name in the round's item."""
        return f"{self.entity}/{self.day.isoformat()}"


@dataclass(frozen=True)
class AuditRound:
    """The progress of a day's round.

    ``doing``: the partition that was begun, ``tries`` times so far. ``given_up``: partitions that
    were begun too often. ``mismatches``: of all partitions that are ``done``; ``findings``: the
    first of them. ``whole``: when a round last ended with nothing given up, or when the first
    round began.
    """

    day: dt.date
    whole: dt.datetime
    done: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()
    doing: str = ""
    tries: int = 0
    mismatches: int = 0
    findings: tuple[VerifyFinding, ...] = ()

    @classmethod
    def parse(cls, item: Image) -> AuditRound:
        """Read a round from its `item`."""
        values = attributes.from_image(item)
        return cls(
            dt.date.fromisoformat(values["day"]),
            dt.datetime.fromisoformat(values["whole"]),
            tuple(values["done"]),
            tuple(values["given_up"]),
            values["doing"],
            values["tries"],
            values["mismatches"],
            tuple(VerifyFinding(*texts) for texts in values.get("findings", ())),
        )

    @property
    def item(self) -> Image:
        """The round as an item of the table."""
        findings = [_shorten(finding) for finding in self.findings]
        values = attributes.to_image({**vars(self), "findings": findings})
        return {**to_key_image(ROUND_KEY), **values}

    def begin(self, partition: AuditPartition) -> AuditRound:
        """The round after a partition was begun. A repeated start raises ``tries``."""
        is_repeated = self.doing == partition.name
        return replace(self, doing=partition.name, tries=self.tries + 1 if is_repeated else 1)

    def with_verified(self, partition: AuditPartition, verified: VerifyReport) -> AuditRound:
        """The round after a partition was verified."""
        return replace(
            self,
            done=(*self.done, partition.name),
            mismatches=self.mismatches + verified.mismatches,
            findings=(*self.findings, *verified.findings)[:MAX_STORED],
            doing="",
            tries=0,
        )

    def with_given_up(self, partition: AuditPartition) -> AuditRound:
        """The round after a partition was given up."""
        return replace(self, given_up=(*self.given_up, partition.name), doing="", tries=0)


def _shorten(finding: VerifyFinding) -> list[str]:
    """A finding as the round's item has it."""
    return [finding.kind, finding.name, finding.detail[:MAX_DETAIL_CHARACTERS]]


@dataclass
class AuditReport:
    """The result of a run, and the progress of its round.

    ``verified``: the number of partitions that this run verified; ``report`` covers these.
    ``left`` and ``given_up``: partitions of the round. ``mismatches``: of all partitions that the
    round has verified. ``age``: seconds since a round was last complete.
    """

    report: VerifyReport = field(default_factory=VerifyReport)
    verified: int = 0
    left: int = 0
    given_up: tuple[str, ...] = ()
    mismatches: int = 0
    age: float = 0.0

    @property
    def counted(self) -> dict[str, float]:
        """Metrics of what was compared."""
        counts = self.report.counts
        return {"ArchiveDeletionsAudited": counts.deletions, "ArchiveRowsAudited": counts.rows}

    @property
    def problems(self) -> dict[str, float]:
        """Metrics that need somebody: the mismatches, and whether no round is recent."""
        is_overdue = self.age >= MAX_AUDIT_AGE.total_seconds()
        return {"ArchiveMismatches": self.mismatches, "ArchiveAuditOverdue": int(is_overdue)}

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values, with no more findings than fit into an answer."""
        report = self.report.to_json()
        report["findings"] = report["findings"][:MAX_REPORTED]
        return {**vars(self), "report": report, "given_up": list(self.given_up)}


@dataclass(frozen=True)
class Auditor:
    """Verifies the last days, with one round a day."""

    store: Table
    bucket: reader.ArchiveReaderBucket
    declared: Sequence[str]
    now: Callable[[], dt.datetime] = utc_now

    def run(self, retry_budget: RetryBudget, *, again: bool = False) -> AuditReport:
        """Continue today's round, or begin it. ``again`` starts it from the beginning.

        Raises:
            UnavailableError: the table or the bucket is unavailable; the next run continues.
        """
        archive = ArchiveReader(_DeadlineBucket(self.bucket, retry_budget))
        verifier = Verifier(self.store, archive, now=self.now)
        # Includes entities that have objects but no declaration: somebody has put them there.
        entities = tuple(sorted({*self.declared, *archive.list_entities()}))
        state, report, time_limit = self._read_round(again), AuditReport(), retry_budget.remaining()
        for partition in _list_remaining(state, entities):
            if report.verified and retry_budget.remaining() < time_limit * FIRST_SHARE:
                break
            state = state.begin(partition)
            if state.tries > TRIES:
                state = state.with_given_up(partition)
                continue
            self.store.put(state.item)
            try:
                verification = verifier.verify(
                    reader.DayRange.for_rows(partition.day), [partition.entity]
                )
            except AuditInterruptedError:
                break
            report.report.add(verification)
            report.verified += 1
            state = state.with_verified(partition, verification)
        return self._finish_round(state, report, entities)

    def _finish_round(
        self, state: AuditRound, report: AuditReport, entities: Sequence[str]
    ) -> AuditReport:
        report.left = len(list(_list_remaining(state, entities)))
        has_progress = report.verified or not entities
        if has_progress and not report.left and not state.given_up:
            state = replace(state, whole=self.now())
        self.store.put(state.item)
        report.given_up, report.mismatches = state.given_up, state.mismatches
        report.age = max(0.0, (self.now() - state.whole).total_seconds())
        return report

    def _read_round(self, again: bool) -> AuditRound:
        now = self.now()
        item = self.store.get(ROUND_KEY, consistent=True)
        if item is None:
            return AuditRound(now.date(), now)
        saved_round = AuditRound.parse(item)
        return (
            AuditRound(now.date(), saved_round.whole)
            if again or saved_round.day != now.date()
            else saved_round
        )


def _list_remaining(state: AuditRound, entities: Sequence[str]) -> Iterator[AuditPartition]:
    """The partitions that are not verified yet. Older days come first: they have more rows."""
    for days_ago in reversed(range(DAYS)):
        for entity in entities:
            partition = AuditPartition(entity, state.day - dt.timedelta(days=days_ago))
            if partition.name not in (*state.done, *state.given_up):
                yield partition


@dataclass(frozen=True)
class _DeadlineBucket:
    """A bucket that refuses reads once little time is left."""

    bucket: reader.ArchiveReaderBucket
    retry_budget: RetryBudget

    def list_objects(
        self, prefix: str, *, behind: str = "", most: int = 1000
    ) -> Iterator[ListedObject]:
        return self.bucket.list_objects(prefix, behind=behind, most=most)

    def fetch(self, key: str) -> FetchedObject | None:
        if not self.retry_budget.has_time_left:
            raise AuditInterruptedError(f"no time is left to read {key}")
        return self.bucket.fetch(key)
