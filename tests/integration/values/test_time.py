"""Series and charts over HTTP: local mean time, and the edge of the calendar."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho import (
    Aggregate,
    Count,
    Domain,
    Entity,
    Key,
    Listing,
    field,
    hour,
    month,
    now,
    uid,
    week,
)
from daicho.plan.calendar import Calendar
from tests.support.api_client import Answer, Client
from tests.support.memory_served import serve_in_memory

LIMIT = "years 1 to 9999"


class Play(Entity):
    id: str = uid()
    song: str = field()
    at: dt.datetime = field()

    key = Key(id)
    by_hour = Aggregate(Count(), song, series=hour(at, "Asia/Tokyo"))
    by_week = Aggregate(Count(), song, series=week(at, "America/New_York"))
    chart = Aggregate(Count(), song, within=month(at), ranked=True)


class Note(Entity):
    id: str = uid()
    at: dt.datetime = field()

    key = Key(id)
    of_month = Listing(month(at, "Asia/Tokyo"))


DOMAIN = Domain("plays", Play, Note)
DOMAIN.resource("/plays/{id}", Play, "PUT GET PATCH")
DOMAIN.resource("/notes/{id}", Note, "PUT GET")
DOMAIN.mount("/hours/{song}", Play.by_hour)
DOMAIN.mount("/weeks/{song}", Play.by_week)
DOMAIN.mount("/charts/{month}", Play.chart.top)


@pytest.fixture
def client() -> Client:
    return serve_in_memory(DOMAIN).client


def assert_edge(answer: Answer, field: str) -> None:
    assert answer.status == 422, (answer.request, answer.text)
    assert answer.fields == {field}, answer.text
    assert LIMIT in answer.json["detail"]
    assert "out of range" not in answer.text


@pytest.mark.parametrize("step", ["hour", "day"])
def test_a_series_in_local_mean_time_ends(client: Client, step: str) -> None:
    answer = client.good("GET", f"/hours/heroes?from=1887-12-31&to=1888-01-03&step={step}")
    labels = [bucket["label"] for bucket in answer["buckets"]]
    assert len(labels) == len(set(labels)) == (3 if step == "day" else 73)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/hours/heroes?from=0001-01-01&to=0001-01-02&step=hour", "from"),
        ("/hours/heroes?from=0001-01-01T00:00Z&to=0001-01-02T00:00Z", "from"),
        ("/hours/heroes?from=9999-12-30&to=9999-12-31T23:00Z&step=hour", "to"),
        ("/hours/heroes?from=9999-01-01&to=9999-12-30&step=month", "to"),
        ("/hours/heroes?from=9998-01-01&to=9999-12-30&step=year", "to"),
        ("/weeks/heroes?from=9999-12-20&to=9999-12-31T23:59:59-05:00&step=week", "to"),
        ("/charts/9999-12", "month"),
    ],
)
def test_a_range_at_the_edge_is_refused(client: Client, path: str, field: str) -> None:
    assert_edge(client("GET", path), field)


@pytest.mark.parametrize("month", ["2026-13", "0000-01", "26-01"])
def test_what_is_no_month_is_no_edge(client: Client, month: str) -> None:
    answer = client("GET", f"/charts/{month}")
    assert (answer.status, answer.fields) == (422, {"month"})
    assert LIMIT not in answer.text


@pytest.mark.parametrize(
    "at", ["9999-12-31T23:59:59Z", "9999-12-01T00:00:00Z", "0001-01-01T00:00:00Z"]
)
def test_a_time_at_the_edge_is_refused_and_names_its_field(client: Client, at: str) -> None:
    assert_edge(client("PUT", "/plays/a", {"song": "heroes", "at": at}), "at")
    client.good("PUT", "/plays/b", {"song": "heroes", "at": "2026-11-21T01:00:00Z"})
    assert_edge(client("PATCH", "/plays/b", {"at": at}), "at")


@pytest.mark.parametrize("at", ["9999-12-31T15:00:00Z", "0001-01-01T00:00:00Z"])
def test_a_list_of_months_has_the_same_edge(client: Client, at: str) -> None:
    assert_edge(client("PUT", "/notes/a", {"at": at}), "at")


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+14:00"])
def test_an_instant_beyond_the_calendar_is_refused(client: Client, at: str) -> None:
    answer = client("PUT", "/plays/a", {"song": "heroes", "at": at})
    assert (answer.status, answer.fields) == (422, {"at"})
    assert "year from 1 to 9999" in answer.text


def test_a_time_near_the_edge_is_kept_and_counted() -> None:
    served = serve_in_memory(DOMAIN)
    for at in ("9998-12-30T01:00:00Z", "0002-02-01T01:00:00Z"):
        served.client.good("PUT", f"/plays/{at[:4]}", {"song": "heroes", "at": at})
    served.deployment.catch_up()
    for day, following in (("9998-12-30", "9998-12-31"), ("0002-02-01", "0002-02-02")):
        series: Any = served.client.good("GET", f"/hours/heroes?from={day}&to={following}")
        assert [bucket["count"] for bucket in series["buckets"]] == [1]


class Visit(Entity):
    id: str = uid()
    at: dt.datetime = field(factory=now)

    key = Key(id)


def test_a_moment_that_nobody_gave_is_that_of_the_clock_in_memory() -> None:
    visits = Domain("visits", Visit)
    visits.resource("/visits/{id}", Visit, "POST PUT GET PATCH")
    served = serve_in_memory(visits)
    start = served.deployment.clock.now()
    made = served.client.good("POST", "/visits", {})
    assert dt.datetime.fromisoformat(made["at"]) - start < dt.timedelta(seconds=1)
    assert made["at"] == made["created_at"]
    served.deployment.clock.advance(3_600)
    put = served.client.good("PUT", f"/visits/{made['id']}", {})
    assert dt.timedelta(0) <= dt.datetime.fromisoformat(put["at"]) - start - dt.timedelta(hours=1)
    book, later = served.deployment.open_book(), start + dt.timedelta(hours=1)
    item = book.create(Visit(id="v"))
    assert later <= item.at <= later + dt.timedelta(seconds=1)
    given = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    assert book.create(Visit(id="w", at=given)).at == given
    with book.transaction() as t:
        t.create(Visit(id="x"))
    assert later <= book.get(Visit.key("x")).at <= later + dt.timedelta(seconds=1)


@pytest.mark.parametrize("offset", ["+14:60", "-03:99", "+0575", "+24:00", "+25:00", "-99:00"])
def test_an_offset_that_no_clock_has_is_refused(client: Client, offset: str) -> None:
    at = f"2026-11-21T09:00:00{offset}"
    answer = client("PUT", "/plays/a", {"song": "heroes", "at": at})
    assert (answer.status, answer.fields) == (422, {"at"})
    bound = at.replace("+", "%2B")
    answer = client("GET", f"/hours/heroes?from={bound}&to=2026-11-22")
    assert (answer.status, answer.fields) == (422, {"from"})


def test_many_buckets_are_refused_before_they_are_listed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("listed")

    monkeypatch.setattr(Calendar, "list_buckets", fail)
    answer = client("GET", "/hours/heroes?from=0002-01-01&to=9998-01-01&step=hour")
    assert (answer.status, answer.fields) == (422, {"to"})
    assert "over 1,000 hours" in answer.text
