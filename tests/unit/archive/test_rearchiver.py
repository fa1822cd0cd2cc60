"""What Lambda gave up, back in the archive: the next link, or beside the one that spans it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from daicho.archive.forgetter import Forgetter
from daicho.archive.rearchiver import Rearchiver
from daicho.redrive.failure_bucket import RearchiveResult
from daicho.runtime.retry import RetryBudget
from tests.support.memory_archive import Kept, build_expired_batch, render_side_name
from tests.support.mortal_stores import Killed, Life, Mortal
from tests.support.sample_ledger import LEDGER


def test_what_the_chain_has_passed_without_it_gets_an_object_of_its_own() -> None:
    kept = Kept()
    kept.append(1, 4)
    kept.append(6)
    assert kept.rejoin(2, 3) == RearchiveResult(added=2)
    assert {render_side_name(2), render_side_name(3)} < kept.bucket.objects.keys()
    assert kept.numbers() == [1, 2, 3, 4, 6]
    assert kept.verify().is_sound


@pytest.mark.parametrize("before", [(), (1,), (1, 3), (1, 2, 3), (5,)])
@pytest.mark.parametrize("after", [(), (4,), (2, 3)])
@pytest.mark.parametrize("given", [(1,), (2, 3), (1, 3, 5)])
def test_a_second_redrive_adds_nothing(
    before: tuple[int, ...], after: tuple[int, ...], given: tuple[int, ...]
) -> None:
    kept = Kept()
    if before:
        kept.append(*before)
    kept.rejoin(*given)
    if after:
        kept.append(*after)
    first = kept.numbers()
    assert first == sorted(set(first))
    assert set(given) | set(before) <= set(first)
    assert kept.rejoin(*given) == RearchiveResult(already=len(given))
    assert kept.numbers() == first
    assert kept.verify().is_sound


def test_a_forgotten_tenants_record_stays_out() -> None:
    kept = Kept()
    kept.append(1, 3)
    kept.grow_old()
    Forgetter(kept.table, kept.bucket, now=lambda: kept.now).forget("t")
    assert kept.numbers() == []
    assert kept.rejoin(1, 2) == RearchiveResult(already=2)
    assert kept.numbers() == []
    assert kept.verify().is_sound


def test_killed_anywhere_it_can_be_done_again() -> None:
    for count in itertools.count(1):
        kept = Kept()
        kept.append(1, 4)
        life = Life(count)
        at_once = RetryBudget(lambda: 0.0)
        table: Any = Mortal(kept.table, life)
        bucket: Any = Mortal(kept.bucket, life)
        try:
            Rearchiver(table, bucket, LEDGER).rearchive(build_expired_batch(2, 3, 5), at_once)
        except Killed:
            kept.rejoin(2, 3, 5)
            assert kept.numbers() == [1, 2, 3, 4, 5]
            assert kept.verify().is_sound
        else:
            break
    assert count > 5
