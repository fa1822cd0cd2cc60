"""What one record changes, and what ends a batch."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from daicho.derive import derived_items
from daicho.derive.contributions import Amount
from daicho.layout.marks import RestoredMark, mark_dismissed
from daicho.storage.attributes import Image, get_key
from daicho.stream.changes import compute_batch, compute_record
from daicho.stream.records import StreamRecord, render_sequence
from daicho.stream.time_limit import TooLongError
from daicho.tally.slots import build_slot_key
from tests.support.endless_work import compute_for_ever
from tests.support.sample_ledger import LEDGER, OLD_LEDGER, build_image, build_tally_key

SONG = {"id": "1", "name": "ab", "artist": "x", "seconds": 3}
DOWNLOAD = {"song": "1", "id": "1", "at": "2026-11-01T00:00:00.000000Z"}


def build_record(
    number: int, old: Image | None, new: Image | None, *, expired: bool = False
) -> StreamRecord:
    return StreamRecord(
        seq=render_sequence("label", str(number)),
        number=str(number),
        shard="s",
        key=get_key(new or old or {}),
        old=old,
        new=new,
        expired=expired,
        at=dt.datetime(2026, 11, 21, tzinfo=dt.UTC),
    )


def test_each_image_is_read_by_its_own_generation() -> None:
    old, new = build_image("Song", SONG, gen=1), build_image("Song", {**SONG, "artist": "y"}, gen=2)
    found = compute_record(build_record(1, old, new), LEDGER)
    assert found.deltas == {
        build_slot_key(build_tally_key("Song", "length", 2, "y"), "s"): Amount(1, Decimal(3)),
    }
    assert set(found.after) - set(found.before) == {
        key for key in found.after if key.sk.startswith("of_artist#2")
    }


def test_sums_beyond_28_digits_are_exact() -> None:
    most = 10**19 - 1
    many = [
        build_record(n, None, build_image("Song", {**SONG, "id": str(n), "seconds": most}, gen=2))
        for n in range(11)
    ]
    found = compute_batch(many, LEDGER).computed
    key = build_slot_key(build_tally_key("Song", "length", 2, "x"), "s")
    total = sum((each.deltas[key] for each in found), Amount())
    assert total == Amount(11, Decimal(11 * most))


def test_a_newer_generation_beside_an_image_that_cannot_be_read_ends_the_batch_too() -> None:
    broken, newer = (
        {**build_image("Song", SONG), "gen": {"S": "?"}},
        build_image("Song", SONG, gen=2),
    )
    found = compute_batch([build_record(1, broken, newer)], OLD_LEDGER)
    assert found.poison == ()
    assert found.stop is not None


@pytest.mark.parametrize(
    "kind", [{"N": "1"}, {"S": ""}, {"S": "x" * 201}, {"S": "~heartbeat"}, {"S": "Nothing"}]
)
def test_an_image_of_no_entity_is_as_good_as_absent(kind: Image) -> None:
    good = build_image("Song", SONG, gen=2)
    other = {**good, "type": kind}
    ledger = LEDGER.with_released({"Nothing": 0})
    found = compute_batch([build_record(1, good, other), build_record(2, other, good)], ledger)
    expected = [build_record(1, good, None), build_record(2, None, good)]
    assert [(each.before, each.after, each.deltas) for each in found.computed] == [
        (each.before, each.after, each.deltas)
        for each in (compute_record(record, LEDGER) for record in expected)
    ]
    assert (found.poison, found.stop) == ((), None)


def test_a_dismissed_image_is_as_good_as_absent_until_it_changes() -> None:
    good = build_image("Song", SONG, gen=2)
    marked = mark_dismissed({**good, "seconds": {"S": "three"}})
    for image in (marked, mark_dismissed(good), mark_dismissed({**good, "gen": {"N": "9"}})):
        found = compute_record(build_record(1, image, good), LEDGER)
        expected = compute_record(build_record(1, None, good), LEDGER)
        assert (found.before, found.deltas) == ({}, expected.deltas)
    edited = {**marked, "name": {"S": "ac"}}
    assert compute_batch([build_record(1, marked, edited)], LEDGER).poison


def test_a_dismissed_image_takes_nothing_back_and_keeps_nothing() -> None:
    mark = RestoredMark("label#1", "2026-11-21T00:00:00.000000Z", 2, 1)
    restored = {**build_image("Download", DOWNLOAD), "_restored": mark.to_value()}
    marked = mark_dismissed({**restored, "version": {"N": "1"}})
    assert compute_record(build_record(1, None, marked), LEDGER).deltas == {}
    assert compute_record(build_record(2, marked, None, expired=True), LEDGER).deltas == {}


def test_a_generation_that_was_never_released_is_poison() -> None:
    unknown = {**build_image("Song", SONG, gen=2), "gen": {"N": "9"}}
    for released, is_poison in ((8, True), (9, False)):
        ledger = LEDGER.with_released({"Song": released})
        found = compute_batch([build_record(1, None, unknown)], ledger)
        assert (bool(found.poison), found.stop is None) == (is_poison, is_poison)


@pytest.mark.parametrize(
    "broken",
    [
        {"seconds": {"S": "three"}},
        {"seconds": {"N": "1e30"}},
        {"name": {"N": "1"}},
        {"gen": {"N": "0"}},
        {"gen": {"NULL": True}},
        {"artist": {"S": "x" * 2000}},
        {"PK": {"N": "1"}},
    ],
)
def test_what_cannot_be_computed_is_poison(broken: Image) -> None:
    good = build_image("Song", SONG, gen=2)
    poison = build_record(2, None, good)
    object.__setattr__(poison, "old", good)
    object.__setattr__(poison, "new", {**good, **broken})
    found = compute_batch(
        [build_record(1, None, good), poison, build_record(3, good, None)], LEDGER
    )
    assert [each.record.number for each in found.computed] == ["1", "3"]
    assert [each.record.number for each in found.poison] == ["2"]
    assert found.stop is None


def test_a_record_has_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daicho.stream.changes.SECONDS_PER_RECORD", 0.02)
    monkeypatch.setattr(derived_items, "compute_index_rows", lambda *_: compute_for_ever())
    found = compute_batch([build_record(1, None, build_image("Song", SONG))], LEDGER)
    assert found.computed == ()
    assert isinstance(found.poison[0].error, TooLongError)
