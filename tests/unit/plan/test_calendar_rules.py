"""The digest of a zone's rules: a new version of the database is noticed where it matters."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, day, field, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger, calendar


class LaterZone(dt.tzinfo):
    """Berlin, whose clock is not set any more from some day on."""

    def __init__(self, end: dt.datetime) -> None:
        self.end = end
        self.berlin = calendar._load_zone("Europe/Berlin")

    def utcoffset(self, at: dt.datetime | None) -> dt.timedelta:
        assert at is not None
        plain = at.replace(tzinfo=None)
        if plain >= self.end.replace(tzinfo=None):
            return dt.timedelta(hours=1)
        return self.berlin.utcoffset(plain.replace(tzinfo=self.berlin)) or dt.timedelta()

    def dst(self, at: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta()

    def tzname(self, at: dt.datetime | None) -> str:
        return "later"

    def fromutc(self, at: dt.datetime) -> dt.datetime:
        if at.replace(tzinfo=None) >= self.end.replace(tzinfo=None):
            return at + dt.timedelta(hours=1)
        return at.replace(tzinfo=dt.UTC).astimezone(self.berlin).replace(tzinfo=self)


@pytest.fixture(autouse=True)
def forget_digests() -> Iterator[None]:
    calendar.digest_zone.cache_clear()
    yield
    calendar.digest_zone.cache_clear()


def declare() -> Daicho:
    class Sale(Entity):
        id: str = uid()
        at: dt.datetime = field()

        key = Key(id)
        local = Aggregate(Count(), series=day(at, "Europe/Berlin"))
        plain = Aggregate(Count(), day(at))

    return Daicho(Domain("sales", Sale))


def test_zones_have_digests_of_their_own_and_utc_has_none() -> None:
    names = ("Europe/Berlin", "Australia/Lord_Howe", "America/New_York", "Asia/Tokyo")
    digests = {calendar.digest_zone(name) for name in names}
    assert len(digests) == len(names)
    assert calendar.digest_zone("Europe/Paris") == calendar.digest_zone("Europe/Berlin")
    assert calendar.digest_zone("UTC") == ""


def test_rules_that_change_a_bucket_are_a_new_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    first = declare().append_generations(Ledger())
    assert declare().append_generations(first) == first
    later = LaterZone(dt.datetime(2030, 1, 1, tzinfo=dt.UTC))
    monkeypatch.setattr(calendar, "_load_zone", lambda name: later)
    calendar.digest_zone.cache_clear()
    second = declare().append_generations(first)
    since = {each.name: each.since for each in second.current_generation("Sale").plan.aggregates}
    assert since == {"local": 2, "plain": 1}


def test_rules_of_later_centuries_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = declare().append_generations(Ledger())
    later = LaterZone(dt.datetime(2060, 1, 1, tzinfo=dt.UTC))
    monkeypatch.setattr(calendar, "_load_zone", lambda name: later)
    calendar.digest_zone.cache_clear()
    assert declare().append_generations(first) == first
