"""What is left to do for a forgotten tenant is done when its time has come, however it is cut."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from daicho.archive import forget_requests
from daicho.archive.forget_requests import (
    FORGOTTEN,
    SETTLE_PERIOD,
    ForgetRequest,
    build_request_key,
)
from daicho.archive.forgetter import (
    REWRITE_GRACE,
    UNREADABLE_RETRY_INTERVAL,
    ForgetRunReport,
    Forgetter,
)
from daicho.runtime.retry import RetryBudget
from daicho.storage.protocols import FetchedObject, try_update
from tests.support.memory_archive import WEEK_LATER, Kept, render_link_name
from tests.support.memory_stores import MemoryBucket

HOUR = dt.timedelta(hours=1)


@dataclass
class House:
    """An archive whose objects were made just now, and whoever goes on with what is due."""

    kept: Kept = field(default_factory=Kept)
    began: dt.datetime = WEEK_LATER
    left: float = 900.0
    read: list[str] = field(default_factory=list)
    reading: Callable[[str], object] = len

    def __post_init__(self) -> None:
        self.kept.bucket = MemoryBucket(lambda: self.now)
        self.kept.now = self.began

    @property
    def now(self) -> dt.datetime:
        return self.kept.now

    def fetch(self, key: str, version: str | None = None) -> FetchedObject | None:
        self.read.append(key)
        self.reading(key)
        return self.kept.bucket.fetch(key, version)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kept.bucket, name)

    def forget(self, tenant: str = "t") -> None:
        Forgetter(self.kept.table, self, now=lambda: self.now).forget(tenant)

    def due(self) -> Forgetter:
        return Forgetter(self.kept.table, self, now=lambda: self.now)

    def run(self) -> ForgetRunReport:
        retry_budget = RetryBudget(lambda: self.left, reserve=20, sleep=self.wait)
        return self.due().run(retry_budget)

    def wait(self, seconds: float) -> None:
        self.left -= max(seconds, 1)

    def later(self, hours: float) -> None:
        self.kept.now += hours * HOUR

    def mark(self, tenant: str = "t") -> ForgetRequest:
        return ForgetRequest.from_item(self.kept.table.items[build_request_key(tenant)])

    def hourly(self, hours: int) -> list[ForgetRunReport]:
        """Run each hour."""
        made = []
        for _ in range(hours):
            self.later(1)
            self.left = 900.0
            made.append(self.run())
        return made


@pytest.fixture
def house() -> House:
    made = House()
    made.kept.append(1, 2)
    made.kept.append(4, tenant="u")
    made.kept.append(5)
    made.kept.rejoin(3)
    return made


def test_younger_objects_go_by_themselves_when_their_time_has_come(house: House) -> None:
    house.forget()
    assert house.kept.numbers() == [1, 2, 3, 4, 5]
    early = house.hourly(71)
    assert house.kept.numbers() == [1, 2, 3, 4, 5]
    assert [each.reports for each in early] == [[]] * 71
    assert (early[-1].waiting, early[-1].overdue) == (1, 0)
    done = house.hourly(2)[-1]
    assert house.kept.numbers() == [4]
    assert house.kept.bucket.older == {}
    assert (done.waiting, done.overdue) == (0, 0)
    assert house.mark().again is None
    assert house.kept.verify().is_sound


def test_nothing_due_is_a_query_and_no_more(house: House) -> None:
    report = house.run()
    assert (report.reports, report.waiting, report.overdue, house.read) == ([], 0, 0, [])
    assert report.counted == {"ArchiveRowsForgotten": 0}
    assert report.problems == {"ForgettingsFailed": 0, "ForgettingsOverdue": 0}


def test_what_is_archived_late_goes_too(house: House) -> None:
    """A deletion may be on its way while the archive is gone through."""
    house.later(80)
    house.forget()
    assert house.kept.numbers() == [4]
    house.kept.append(6)  # deleted long before; the objects are of now, so they are young
    assert house.mark().again == house.now + SETTLE_PERIOD
    reports = house.hourly(24 + 74)
    assert house.kept.numbers() == [4]
    assert house.mark().again is None
    assert sum(each.counted["ArchiveRowsForgotten"] for each in reports) == 1


def test_what_is_deleted_after_it_was_asked_for_stays(house: House) -> None:
    house.forget()
    later = int((house.now + 5 * HOUR).timestamp())
    house.kept.append(7, at=later)
    house.hourly(24 * 8)
    assert house.mark().again is None
    assert house.kept.numbers() == [4, 7]
    # Asked for anew, that goes too, though a run found the rest clean.
    house.forget()
    assert house.kept.numbers() == [4]


def test_asked_for_anew_by_the_stack_everything_is_looked_at(house: House) -> None:
    house.forget()
    later = int((house.now + 5 * HOUR).timestamp())
    house.kept.append(7, at=later)
    house.hourly(24 * 8)
    assert try_update(house.kept.table, forget_requests.request_update("t", house.now, house.now))
    house.hourly(74)
    assert (house.kept.numbers(), house.mark().again) == ([4], None)


def test_only_what_is_younger_than_a_clean_run_is_read(house: House) -> None:
    house.later(80)
    house.forget()
    house.read.clear()
    assert house.mark().clean == house.now - REWRITE_GRACE
    house.later(73)
    house.run()
    # Its own rewriting made them younger; what was not rewritten is not looked at.
    assert render_link_name(2) not in house.read
    assert house.mark().again is None


def test_a_run_has_so_much_time_and_the_next_one_goes_on(house: House) -> None:
    for number in range(6, 20):
        house.kept.append(number)
    house.forget()
    house.later(73)

    def spend(_: str) -> None:
        house.left -= 200

    house.reading = spend
    steps = 0
    while not (report := house.hourly(1)[0]).reports[0].finished:
        steps += 1
        assert house.mark().current_pass is not None
        assert report.overdue > 0
    assert steps > 3
    assert house.kept.numbers() == [4]
    assert house.mark().again is None
    # Each object was looked at once, and once more with its older version.
    links = {render_link_name(number) for number in range(5, 19)}
    assert all(house.read.count(name) <= 3 for name in links)


def test_two_tenants_go_in_the_order_in_which_they_are_due(house: House) -> None:
    house.forget("u")
    house.later(2)
    house.forget("t")
    assert [mark.tenant for mark in house.due().list_waiting()] == ["u", "t"]
    house.later(72)
    done = house.run()
    assert {each.tenant for each in done.reports} == {"t", "u"}
    assert house.kept.numbers() == []


def test_what_cannot_be_read_is_told_and_tried_each_day(house: House) -> None:
    house.forget()
    body, _ = house.kept.bucket.objects[render_link_name(0)]
    house.kept.bucket.overwrite(render_link_name(0), b"?")
    house.later(73)
    report = house.run()
    assert list(report.broken) == [render_link_name(0)]
    assert report.problems["ForgettingsFailed"] == 1
    assert house.mark().again == house.now + UNREADABLE_RETRY_INTERVAL
    assert house.mark().clean == house.began - REWRITE_GRACE  # as it was
    house.kept.bucket.overwrite(render_link_name(0), body)
    spoilt = max(
        (each for each in house.kept.bucket.list_versions(render_link_name(0)) if not each.newest),
        key=lambda each: each.modified,
    )
    house.kept.bucket.remove_versions([spoilt])  # as it is after 30 days
    house.hourly(24 + 73)
    assert (house.kept.numbers(), house.mark().again) == ([4], None)


@pytest.mark.parametrize(("hours", "is_overdue"), [(23.9, 0), (24, 1)])
def test_a_tenant_that_has_been_due_for_a_day_is_a_problem(hours: float, is_overdue: int) -> None:
    report = ForgetRunReport(waiting=1, overdue=hours * 3600)
    assert report.problems["ForgettingsOverdue"] == is_overdue


def test_two_who_go_the_same_course_do_no_harm(house: House) -> None:
    house.forget()
    house.later(73)
    once = iter([True])

    def other(_: str) -> None:
        if next(once, False):
            assert house.run().reports[0].finished

    house.reading = other
    report = house.run()
    assert [each.finished for each in report.reports] == [False]
    assert house.mark() == ForgetRequest(
        "t",
        house.began,
        house.began,
        clean=house.now - REWRITE_GRACE,
    )
    assert house.kept.numbers() == [4]


def test_marks_are_no_entitys_items(house: House) -> None:
    house.forget()
    item = house.kept.table.items[build_request_key("t")]
    assert "type" not in item  # so no consumer of the stream is woken
    assert item["PK"]["S"] == FORGOTTEN
    assert FORGOTTEN.startswith("#")  # no tenant's
