"""Restoring: what is selected comes back once, never over what is newer, and may be run again."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from daicho.archive.reader import Selection
from daicho.archive.restored_image import to_storable
from daicho.archive.restorer import Restorer, RestoreReport
from daicho.errors import UnansweredError
from daicho.layout.backfill_state import BackfillState
from daicho.layout.marks import RESTORED_MARK
from daicho.layout.tenant_items import CLOSED_CACHE_S, build_closed_mark_key
from daicho.release.refusals import ReleaseRefusedError
from daicho.runtime.clock import ClockReading, read_clocks
from daicho.runtime.retry import RetryBudget
from daicho.storage import attributes
from tests.support.memory_archive import (
    DAY,
    MIDNIGHT,
    Kept,
    build_download,
    render_link_name,
    render_seq,
)
from tests.support.sample_ledger import LEDGER

LIVES = 3600


@pytest.fixture
def kept() -> Kept:
    made = Kept()
    made.append(1, 2)
    made.append(3, tenant="u")
    made.append(4, at=MIDNIGHT + DAY)
    return made


def restore(kept: Kept, *, dry_run: bool = False, table: Any = None, **more: Any) -> RestoreReport:
    asked = {name: more.pop(name) for name in ("tenant", "key", "since", "until") if name in more}
    clocks, ledger = more.pop("clocks", read_clocks), more.pop("ledger", LEDGER)
    kept.now += dt.timedelta(seconds=1)  # no two runs are of one instant
    restorer = Restorer(
        table or kept.table,
        kept.archive,
        ledger,
        threads=1,
        now=lambda: kept.now,
        clocks=clocks,
    )
    return restorer.restore(Selection(**asked), dry_run=dry_run, **more)


def items(kept: Kept) -> dict[str, Any]:
    """The items by their id and tenant."""
    return {
        f"{key.pk[0]}{item['id']['S']}": item
        for key, item in kept.table.items.items()
        if "type" in item
    }


def key(number: int, tenant: str = "t") -> attributes.ItemKey:
    return attributes.get_key(build_download(number, tenant))


def test_what_is_selected_comes_back_with_a_new_expiry(kept: Kept) -> None:
    report = restore(kept, tenant="t")
    assert (report.rows, report.items, report.restored, report.complete) == (3, 3, 3, True)
    found = items(kept)
    assert sorted(found) == ["t1", "t2", "t4"]
    assert found["t1"] == {
        **build_download(1),
        "version": {"N": "1"},
        "ttl": {"N": str(int(kept.now.timestamp()) + LIVES)},
        RESTORED_MARK: found["t1"][RESTORED_MARK],
    }
    assert found["t1"][RESTORED_MARK]["M"]["seq"] == {"S": render_seq(1)}


def test_a_dry_run_says_what_would_be_and_writes_nothing(kept: Kept) -> None:
    kept.table.items[key(1)] = build_download(1, ttl=int(kept.now.timestamp()) + 9)
    before = dict(kept.table.items)
    report = restore(kept, dry_run=True)
    assert (report.restored, report.newer, report.finished) == (3, 1, True)
    assert dict(kept.table.items) == before


def test_run_again_it_finds_its_own_work(kept: Kept) -> None:
    restore(kept)
    before = dict(kept.table.items)
    kept.now += dt.timedelta(minutes=5)
    report = restore(kept)
    assert (report.restored, report.already, report.complete) == (0, 4, True)
    assert restore(kept, over_newer=True).already == 4
    assert dict(kept.table.items) == before


def test_nothing_is_written_over_a_newer_item_unless_told(kept: Kept) -> None:
    live = build_download(1, ttl=int(kept.now.timestamp()) + 9, at="2026-12-01T00:00:00.000000Z")
    kept.table.items[key(1)] = live
    report = restore(kept)
    assert (report.restored, report.newer, report.complete) == (3, 1, False)
    assert kept.table.items[key(1)] == live
    report = restore(kept, over_newer=True)
    assert (report.restored, report.replaced, report.already) == (1, 1, 3)
    assert kept.table.items[key(1)]["at"] == build_download(1)["at"]


def test_a_version_of_one_life_is_not_used_again(kept: Kept) -> None:
    """A caller may still expect an earlier state that had it."""
    restore(kept)
    item = kept.table.items[key(1)]
    kept.table.items[key(1)] = {**item, "version": {"N": "7"}, RESTORED_MARK: other_row(item)}
    assert restore(kept, over_newer=True).replaced == 1
    found = kept.table.items[key(1)]
    assert found["version"] == found[RESTORED_MARK]["M"]["version"] == {"N": "8"}
    assert found[RESTORED_MARK]["M"]["seq"] == {"S": render_seq(1)}
    damaged = {**item, RESTORED_MARK: other_row(item)}
    del damaged["created_at"]
    kept.table.items[key(1)] = damaged
    assert restore(kept, over_newer=True).replaced == 1


def other_row(item: Any) -> Any:
    """The mark of an item, as if another row of its life had been restored last."""
    return {"M": {**item[RESTORED_MARK]["M"], "seq": {"S": render_seq(9)}}}


def test_an_expired_item_is_archived_before_anything_takes_its_place(kept: Kept) -> None:
    kept.table.items[key(1)] = build_download(1, ttl=int(kept.now.timestamp()) - 9)
    report = restore(kept, over_newer=True)
    assert (report.restored, report.waiting, report.complete) == (3, 1, False)


def test_what_no_item_can_be_made_of_is_named_and_the_rest_comes_back(kept: Kept) -> None:
    kept.append(6, gen={"N": "7"})
    kept.append(7, type={"S": "Gone"})
    kept.append(8, song={"N": "1"})
    kept.bucket.overwrite(render_link_name(0).replace("11-21", "11-22"), b"?")
    report = restore(kept)
    assert report.restored == 3
    assert sorted(each["seq"] for each in report.unrestorable) == [
        render_seq(6),
        render_seq(7),
        render_seq(8),
    ]
    assert list(report.broken) == [render_link_name(0).replace("11-21", "11-22")]
    assert not report.complete
    assert report.to_json()["failed"] == 3


class Silent:
    """A table whose n-th transaction is done, and nobody is told."""

    def __init__(self, real: Any, at: int) -> None:
        self._real, self._left = real, itertools.count(at, -1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def transact(self, writes: Any) -> None:
        self._real.transact(writes)
        if next(self._left) == 0:
            raise UnansweredError("transact")


@pytest.mark.parametrize("at", range(4))
def test_a_lost_answer_is_no_newer_item(kept: Kept, at: int) -> None:
    retry_budget = RetryBudget(lambda: 100.0, reserve=0, sleep=lambda _: None)
    report = restore(kept, table=Silent(kept.table, at), retry_budget=retry_budget)
    assert (report.restored, report.already, report.newer) == (4, 0, 0)


def test_binary_values_are_bytes_again() -> None:
    archived = {"M": {"b": {"B": "AAE="}, "l": {"L": [{"BS": ["AA=="]}, {"N": "1.0"}]}}}
    assert to_storable(archived) == {
        "M": {"b": {"B": b"\x00\x01"}, "l": {"L": [{"BS": [b"\x00"]}, {"N": "1.0"}]}}
    }


def test_an_item_with_an_unknown_mark_is_left_alone_and_the_rest_comes_back(kept: Kept) -> None:
    item = {**build_download(1), RESTORED_MARK: {"S": "mine"}}
    kept.table.items[key(1)] = item
    report = restore(kept)
    assert (report.restored, report.failed, kept.table.items[key(1)]) == (3, 1, item)


def stop_monotonic_clock() -> Callable[[], ClockReading]:
    """Clocks of a laptop that sleeps between any two readings: only the wall clock moves."""
    return (ClockReading(0.0, wall) for wall in itertools.count(0, CLOSED_CACHE_S)).__next__


def test_a_tenant_that_is_closed_meanwhile_gets_nothing_more(kept: Kept) -> None:
    mark = build_closed_mark_key("t")

    def close(_report: object) -> None:
        kept.table.items[mark] = {"PK": {"S": mark.pk}, "SK": {"S": mark.sk}}

    report = restore(kept, tenant="t", on_progress=close, clocks=stop_monotonic_clock())
    assert (report.restored, report.failed) == (2, 1)
    assert sorted(items(kept)) == ["t1", "t2"]


def test_a_restore_ends_when_a_newer_generation_is_released_meanwhile(kept: Kept) -> None:
    """A rebuild would not count what this ledger restores (rule 33).

    No schedule plays it: a simulated restore takes no time in which a release could come.
    """

    def release(_report: object) -> None:
        kept.table.batch_write([BackfillState("Download", 1, 2).to_item()])

    with pytest.raises(ReleaseRefusedError, match="Download generation 2 was released"):
        restore(kept, tenant="t", on_progress=release, clocks=stop_monotonic_clock())
    assert sorted(items(kept)) == ["t1", "t2"]


def test_nothing_comes_back_of_a_tenant_that_is_closed(kept: Kept) -> None:
    mark = build_closed_mark_key("t")
    kept.table.items[mark] = {"PK": {"S": mark.pk}, "SK": {"S": mark.sk}}
    report = restore(kept)
    assert sorted(items(kept)) == ["u3"]
    assert (report.restored, report.failed, report.complete) == (1, 3, False)
    assert {each["error"] for each in report.unrestorable} == {"the tenant t is closed for good"}
