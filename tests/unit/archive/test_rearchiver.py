"""What Lambda gave up, back in the archive: the next link, or beside the one that spans it."""

from __future__ import annotations

from daicho.archive.forgetter import Forgetter
from daicho.redrive.failure_bucket import RearchiveResult
from tests.support.memory_archive import Kept, render_side_name


def test_what_the_chain_has_passed_without_it_gets_an_object_of_its_own() -> None:
    kept = Kept()
    kept.append(1, 4)
    kept.append(6)
    assert kept.rejoin(2, 3) == RearchiveResult(added=2)
    assert {render_side_name(2), render_side_name(3)} < kept.bucket.objects.keys()
    assert kept.numbers() == [1, 2, 3, 4, 6]
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
