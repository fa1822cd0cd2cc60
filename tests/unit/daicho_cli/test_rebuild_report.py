"""How far a rebuild is, in one line."""

from __future__ import annotations

from daicho.rebuild.job import RebuildJob
from daicho.rebuild.purge_job import PurgeJob
from daicho_cli.rebuild import build_document, describe_job, describe_purge


def build_job(**values: object) -> RebuildJob:
    job = RebuildJob("one", {"User": 2, "Sale": 3}, "2026-11-23T10:00:00.000000Z")
    for name, value in values.items():
        setattr(job, name, value)
    return job


def test_a_wait_shows_its_end_and_the_archive_is_a_phase_of_its_own() -> None:
    job = build_job(waits="2026-11-23T10:14:05.123456Z", reason="why")
    assert describe_job(job).endswith("waits for the last older writers until 10:14:05 · why")
    job.phase, job.counts = "fill", {"archived_rows": 1840.0}
    assert describe_job(job) == (
        "User 2, Sale 3: running · archive · 0 items touched, 1,840 archived rows added · waits "
        "until 10:14:05 · why"
    )
    job.state = "succeeded"
    assert describe_job(job).endswith("complete · 0 items touched, 1,840 archived rows added · why")


def test_a_purge_shows_what_it_deletes() -> None:
    purge = PurgeJob("two", {"User": ["search@1"], "Sale": ["sum@1", "sum@2"]}, "2026-11-23T10:00")
    purge.counts["deleted"] = 1840.0
    line = "purge of User.search@1, Sale.sum@1, Sale.sum@2: "
    purge.waits, purge.reason = "2026-11-23T10:14:05.123456Z", "a rebuild has priority"
    assert describe_purge(purge) == (
        f"{line}running · pass 1 of at least 2 · 1,840 items deleted · waits until 10:14:05 · "
        "a rebuild has priority"
    )
    assert build_document(None, purge) == {"purge": vars(purge)}
    purge.state = "succeeded"
    assert describe_purge(purge) == f"{line}complete · 1,840 items deleted"
    assert build_document(None, None) == {}


def test_a_pass_shows_its_speed_and_the_time_that_is_left() -> None:
    job = build_job(passes=2, seen=600, total=1000, items_per_second=10.5, units_per_second=412.4)
    job.effective_rate = job.rate = 500.0
    assert describe_job(job) == (
        "User 2, Sale 3: running · pass 2 of at least 2 · 60 % · 0 items touched · 412 units/s · "
        "39 s left"
    )
    job.passes, job.effective_rate, job.items_per_second = 1, 250.0, 1.0
    assert describe_job(job).endswith(
        "412 units/s (throttled: 250 of 500) · 7 min left in this pass"
    )
