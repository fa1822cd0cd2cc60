"""A day's audit: it comes to its end whatever ends its runs, and says how far it is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from daicho.archive.audit import MAX_REPORTED, ROUND_KEY, TRIES, Auditor, AuditReport, AuditRound
from daicho.archive.verifier import VerifyFinding
from daicho.errors import UnavailableError
from daicho.runtime.retry import RetryBudget
from daicho.storage.protocols import FetchedObject
from tests.support.memory_archive import DAY, MIDNIGHT, TODAY, Kept, render_link_name

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
ENTITIES = ("Download", "Visit")
PARTITIONS = 3 * len(ENTITIES)


@dataclass
class Audited:
    """An archive of two days, and whoever audits it. ``left`` are seconds of each run."""

    kept: Kept = field(default_factory=Kept)
    now: dt.datetime = NOON
    left: float = 900.0
    reading: Callable[[], None] = lambda: None

    def run(self, **asked: Any) -> AuditReport:
        auditor = Auditor(self.kept.table, _Slow(self), ENTITIES, now=lambda: self.now)
        return auditor.run(RetryBudget(lambda: self.left, reserve=20), **asked)

    @property
    def state(self) -> AuditRound:
        return AuditRound.parse(self.kept.table.items[ROUND_KEY])


class _Slow:
    """The bucket, of which each reading does something."""

    def __init__(self, audited: Audited) -> None:
        self._audited, self._bucket = audited, audited.kept.bucket
        self.list_objects = self._bucket.list_objects

    def fetch(self, key: str) -> FetchedObject | None:
        self._audited.reading()
        return self._bucket.fetch(key)


@pytest.fixture
def audited() -> Audited:
    """Deletions of yesterday and of today."""
    made = Audited()
    made.kept.append(1, 2)
    made.kept.append(3, 4)
    made.kept.append(5, at=MIDNIGHT + DAY)
    return made


def test_a_round_verifies_the_last_three_days(audited: Audited) -> None:
    done = audited.run()
    assert (done.verified, done.left, done.mismatches, done.age) == (PARTITIONS, 0, 0, 0)
    assert (done.report.counts.rows, done.report.counts.deletions) == (5, 5)
    assert done.counted == {"ArchiveDeletionsAudited": 5, "ArchiveRowsAudited": 5}
    assert done.problems == {"ArchiveMismatches": 0, "ArchiveAuditOverdue": 0}
    days = {name.rpartition("/")[2] for name in audited.state.done}
    assert days == {"2026-11-20", "2026-11-21", "2026-11-22"}


def test_there_is_one_round_a_day(audited: Audited) -> None:
    audited.run()
    audited.now += dt.timedelta(hours=3)
    later = audited.run()
    assert (later.verified, later.left, later.age) == (0, 0, 3 * 3600)
    audited.now += dt.timedelta(hours=21)
    assert audited.run().verified == PARTITIONS


def test_a_mismatch_is_told_until_the_next_round(audited: Audited) -> None:
    audited.kept.bucket.remove(render_link_name(2))
    first = audited.run()
    assert first.mismatches > 0
    assert {each.kind for each in first.report.findings} == {"removed"}
    # Whoever looks an hour later sees it, though nothing was verified anew.
    audited.now += dt.timedelta(hours=1)
    later = audited.run()
    assert (later.verified, later.mismatches) == (0, first.mismatches)
    audited.now += dt.timedelta(days=3)
    assert audited.run().mismatches == 0


def test_what_was_mended_is_seen_at_once_if_asked_for(audited: Audited) -> None:
    kept = audited.kept
    body, metadata = kept.bucket.objects[render_link_name(2)]
    kept.bucket.remove(render_link_name(2))
    assert audited.run().mismatches > 0
    assert kept.bucket.create(render_link_name(2), body, metadata)
    again = audited.run(again=True)
    assert (again.verified, again.mismatches, again.left) == (PARTITIONS, 0, 0)


def test_a_partition_is_begun_with_time_for_it(audited: Audited) -> None:
    def spend() -> None:
        audited.left -= 300

    audited.reading = spend
    done = audited.run()
    # Yesterday's has two objects: 300 of 900 seconds are left, and none is begun with so few.
    assert (audited.left, audited.state.doing) == (300, "")
    assert done.left == PARTITIONS - len(ENTITIES) - 1


def test_a_partition_that_takes_too_long_does_not_stop_the_others(audited: Audited) -> None:
    def endless() -> None:
        audited.left = 0

    audited.reading = endless
    for _ in range(2 * TRIES):
        audited.left = 900.0
        done = audited.run()
        audited.now += dt.timedelta(hours=1)
    assert done.given_up == ("Download/2026-11-21",)  # of two objects, the second is too late
    assert (done.left, len(audited.state.done)) == (0, PARTITIONS - 1)
    # It is not complete: the age goes on growing, and somebody will hear of it.
    audited.now += dt.timedelta(hours=3)
    assert audited.run().age == (2 * TRIES + 3) * 3600
    # Tomorrow is another day.
    audited.now += dt.timedelta(days=1)
    audited.left, audited.reading = 900.0, lambda: None
    done = audited.run()
    assert (done.given_up, done.left, done.age) == ((), 0, 0)


def test_a_bucket_that_does_not_answer_is_asked_until_the_run_ends(audited: Audited) -> None:
    def refuse() -> None:
        audited.left -= 450
        raise UnavailableError("503")

    audited.reading = refuse
    done = audited.run()
    # Nothing is said of what could not be read: it is not missing.
    assert (done.mismatches, done.left) == (0, PARTITIONS - len(ENTITIES))
    audited.left, audited.reading = 900.0, lambda: None
    assert audited.run().left == 0


def test_the_age_is_counted_from_the_first_run(audited: Audited) -> None:
    def endless() -> None:
        audited.left = 0

    audited.reading = endless
    assert audited.run().age == 0
    audited.now += dt.timedelta(hours=31)
    audited.left = 900.0
    overdue = audited.run()
    assert overdue.age == 31 * 3600
    assert overdue.problems["ArchiveAuditOverdue"] == 1


def test_what_nobody_declares_is_audited_too(audited: Audited) -> None:
    body, metadata = audited.kept.bucket.objects[render_link_name(2)]
    name = render_link_name(0).replace("Download", "Downlaod")
    assert audited.kept.bucket.create(name, body, metadata)
    done = audited.run()
    assert done.verified == PARTITIONS + 3
    assert {each.name for each in done.report.findings} >= {name}


def test_the_state_is_no_entitys_item(audited: Audited) -> None:
    audited.run()
    item = audited.kept.table.items[ROUND_KEY]
    assert "type" not in item  # so no consumer of the stream is woken
    assert AuditRound.parse(item).item == item
    assert ROUND_KEY.pk.startswith("#")  # no tenant's


def test_an_answer_holds_so_many_findings() -> None:
    report = AuditReport()
    report.report.findings = [VerifyFinding("gap", f"{n}") for n in range(MAX_REPORTED + 1)]
    told = report.to_json()["report"]
    assert (len(told["findings"]), told["mismatches"]) == (MAX_REPORTED, MAX_REPORTED + 1)


def test_today_is_a_day_of_utc(audited: Audited) -> None:
    audited.now = dt.datetime.combine(TODAY, dt.time(23, 59), dt.UTC)
    audited.run()
    assert audited.state.day == TODAY
