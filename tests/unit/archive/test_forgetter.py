"""Forgetting a tenant: its rows go, with every version that held them, and the chains hold."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from daicho.archive.forgetter import ForgetReport, Forgetter
from tests.support.memory_archive import Kept, render_link_name, render_side_name
from tests.support.mortal_stores import Killed, Turns, let_end


@pytest.fixture
def kept() -> Kept:
    made = Kept()
    made.append(1, 2)
    made.append(4, tenant="u")
    made.append(5)
    made.rejoin(3)
    made.grow_old()
    return made


def forget(kept: Kept, tenant: str = "t", **more: Any) -> ForgetReport:
    return Forgetter(kept.table, kept.bucket, now=lambda: kept.now).forget(tenant, **more)


def test_rows_and_old_versions_go_and_the_chain_holds(kept: Kept) -> None:
    report = forget(kept)
    assert report.complete
    assert (report.objects, report.rows, report.versions) == (3, 4, 3)
    assert kept.numbers() == [4]
    assert kept.bucket.older == {}
    assert kept.verify().is_sound
    kept.append(5)  # what comes again meets the chain as it was
    kept.append(6, tenant="u")
    assert kept.numbers() == [4, 6]
    assert kept.verify().is_sound


def test_a_second_time_there_is_nothing_to_do(kept: Kept) -> None:
    forget(kept)
    before = dict(kept.bucket.objects)
    report = forget(kept)
    assert (report.objects, report.versions, report.complete) == (0, 0, True)
    assert dict(kept.bucket.objects) == before


def test_a_dry_run_changes_nothing(kept: Kept) -> None:
    before = dict(kept.bucket.objects)
    report = forget(kept, dry_run=True)
    assert (report.objects, report.rows, report.complete) == (3, 4, False)
    assert dict(kept.bucket.objects) == before
    assert Forgetter(kept.table, kept.bucket).list_waiting() == []


def test_versions_under_a_mark_of_deletion_go_too(kept: Kept) -> None:
    client: Any = kept.bucket._client
    client.delete_object(Bucket="bucket", Key=render_link_name(0))
    assert forget(kept).versions == 3
    assert render_link_name(0) not in kept.bucket.older


def test_what_cannot_be_read_is_named(kept: Kept) -> None:
    kept.bucket.overwrite(render_link_name(0), b"?")
    report = forget(kept)
    assert list(report.broken) == [render_link_name(0)]
    assert not report.complete
    # Its older version could be read, and held the tenant's rows.
    assert kept.bucket.older == {}


def test_another_tenants_rows_stay_as_they_were(kept: Kept) -> None:
    body, _ = kept.bucket.objects[render_link_name(2)]
    forget(kept)
    assert kept.bucket.objects[render_link_name(2)][0] == body
    assert forget(kept, "nobody").objects == 0


def test_stopped_anywhere_it_is_done_by_the_next_run() -> None:
    for stop in itertools.count(1):
        kept = Kept()
        kept.append(1, 2)
        kept.append(4, tenant="u")
        kept.rejoin(3)
        kept.grow_old()
        turns = Turns(stop)
        table, bucket = let_end(kept.table, turns), let_end(kept.bucket, turns)
        mortal = Forgetter(table, bucket, now=lambda k=kept: k.now)  # type: ignore[misc]
        try:
            mortal.forget("t")
        except Killed:
            assert forget(kept).complete
        else:
            break
        assert kept.numbers() == [4]
        assert kept.bucket.older == {}
        assert render_side_name(3) in kept.bucket.objects
        assert kept.verify().is_sound
    assert stop > 8
