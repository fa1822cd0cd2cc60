"""Outages that last longer than the stream keeps records, from the outage to the recovery."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from daicho.errors import Conflict, Invalid
from daicho.rebuild.table_step import GAP_WAIT_S, TableStep
from daicho.recovery.phases import NO_GAP
from daicho.recovery.recovery import declare_gap, request_recovery
from daicho.storage import keys
from daicho.storage.protocols import try_update
from daicho.stream import claims
from daicho.stream.claims import Claim, put_claim_update
from daicho.stream.gap import DISABLED, LATE, Sighting, read_gap
from daicho.stream.gap_detection import DISABLED_LAG_S, NO_MAPPING
from daicho.stream.shard_items import read_shard
from daicho.stream.watermark_job import WatermarkJob
from daicho.testing.aws.shard_reader import RETENTION_S
from daicho.testing.stack_settings import FAILURE_BUCKET
from daicho.verify.findings import Kind
from daicho.verify.job import VerifyJob, find_verification
from tests.support.outage import HOUR_S, LABEL, MINUTE_S, Outage
from tests.support.verified_shop import LEDGER, Customer, Memo, Sale, Trip, Visit


@pytest.fixture
def outage() -> Outage:
    return Outage()


def test_an_outage_of_thirty_hours_is_told_and_recovered(outage: Outage) -> None:
    shop, clock = outage.shop, outage.deployment.clock
    began = clock.now()
    outage.disable()
    book = shop.book
    for number in range(20, 30):
        book.create(Customer(id=f"c{number}", name=f"later {number}"))
        book.create(Sale(id=f"s{number}", customer="c0", amount=number))
    book.delete(Sale.key("s1"))
    outage.pass_minutes(3)
    assert DISABLED in outage.gap.reasons
    clock.advance(30 * HOUR_S)
    outage.enable()
    outage.pass_minutes(5)
    score = outage.read_count()
    assert (score.items, score.uncertain) == (6, True)
    assert score.as_of is not None
    assert score.as_of <= began
    assert outage.list_customers() == 6
    before = outage.count_base_writes()
    job = outage.shop.recover()
    assert (job.outcome, job.reason) == ("repaired", "")
    changed = 21
    assert outage.count_base_writes() - before <= 1.05 * changed
    assert not outage.gap.is_open
    assert (outage.gap.label, outage.gap.reasons) == (LABEL, ())
    outage.pass_minutes(4)
    score = outage.read_count()
    assert (score.items, score.uncertain) == (15, False)
    assert score.as_of is not None
    assert score.as_of > began + dt.timedelta(hours=30)
    assert outage.list_customers() == 16
    assert shop.verify().outcome == "clean"


def lose_stream(outage: Outage) -> None:
    outage.disable()
    outage.deployment.clock.advance(MINUTE_S)
    outage.enable()


def stop_projector(outage: Outage) -> None:
    """Only the rollup runs, for most of a day."""
    outage.shop.book.create(Memo(id="late", text="x"))
    for _ in range(24):
        outage.deployment.clock.advance(HOUR_S - MINUTE_S)
        outage.pass_minutes(1, delivers=False)


def stop_everything(outage: Outage) -> None:
    """Nothing runs for longer than a day. The projector continues before the rollup."""
    outage.shop.book.create(Memo(id="late", text="x"))
    outage.deployment.clock.advance(RETENTION_S + HOUR_S)
    outage.deployment.deliver()


def lose_shard(outage: Outage) -> None:
    """A shard that was not read to its end is gone, with what follows it."""
    stream, recorder = outage.deployment._stream, outage.deployment._recorder
    (gone,) = recorder.open_shards
    recorder.roll(gone)
    del stream.shards[gone]


def lose_payload(outage: Outage) -> None:
    """The record of a claim is not in the bucket."""
    (shard,) = outage.deployment._recorder.open_shards
    seq = f"2030#{1:040}"
    claim = Claim(seq, "uncertain", "Memo", 1, outage.deployment.clock.now())
    assert try_update(outage.shop.table, put_claim_update(shard, claim))
    outage.shop.has_claims = True


@pytest.mark.parametrize(
    ("lose", "reason"),
    [
        (Outage.disable, DISABLED),
        (lose_stream, "has the stream"),
        (stop_projector, LATE),
        (stop_everything, LATE),
        (lose_shard, "was not read to its end"),
        (lose_payload, "is lost"),
    ],
)
def test_a_loss_is_told_within_five_minutes(outage: Outage, lose: Any, reason: str) -> None:
    assert not outage.gap.is_open
    lose(outage)
    outage.pass_minutes(4, delivers=False)
    assert reason in "; ".join(outage.gap.reasons)
    outage.pass_minutes(2, delivers=False)
    assert len(outage.gap.reasons) == 1
    assert outage.read_count().uncertain


@pytest.mark.parametrize("lose", [lose_stream, stop_everything, lose_payload])
def test_a_loss_is_recovered(outage: Outage, lose: Any) -> None:
    lose(outage)
    outage.pass_minutes(1)
    book = outage.shop.book
    book.create(Memo(id="new", text="x"))
    job = outage.shop.recover()
    assert (job.outcome in {"clean", "repaired"}, job.reason) == (True, "")
    outage.pass_minutes(4)
    assert not outage.gap.is_open
    assert not outage.read_count().uncertain
    wanted = 8 if lose is stop_everything else 7
    assert len(book.page(Memo.newest(), limit=100).items) == wanted


def test_a_disabled_mapping_and_a_quiet_projector_are_late_and_no_gap(
    outage: Outage, capsys: pytest.CaptureFixture[str]
) -> None:
    table, clock = outage.shop.table, outage.deployment.clock
    outage.pass_minutes(22, delivers=False)
    assert not outage.gap.is_open
    capsys.readouterr()
    job = build_job(outage, "Disabled")
    start = job.begin()
    assert start is not None
    assert (start.gap, start.lag) == (False, DISABLED_LAG_S)
    outage.deployment.deliver()
    assert build_job(outage, "Enabled").begin().lag == 0
    start = build_job(outage, None).begin()
    assert (start.gap, read_gap(table).reasons) == (True, (NO_MAPPING,))
    assert read_gap(table).found_at == keys.render_instant(clock.now())


def build_job(outage: Outage, state: str | None) -> Any:
    """The job of a rollup that knows the mapping of the projector, which is in this state."""
    deployment = outage.deployment
    return WatermarkJob(
        outage.shop.table,
        deployment._describe_stream,
        lambda: outage.shop.open_bucket(FAILURE_BUCKET),
        "Sale",
        dt.timedelta(seconds=45),
        deployment.clock.now,
        "uuid",
        lambda _: state,
    )


def test_another_mapping_is_a_gap(outage: Outage) -> None:
    seen = Sighting(outage.gap.label, "one")
    first = outage.gap.observe(seen, "", outage.deployment.clock.now())
    later = first.observe(replace(seen, mapping="two"), "", outage.deployment.clock.now())
    assert later.reasons == ("the projector has the mapping two, not one",)
    assert (first.reasons, later.mapping) == ((), "two")


def test_what_is_kept_of_expired_items_is_judged(outage: Outage) -> None:
    for number in range(3):
        outage.shop.book.create(Trip(id=f"t{number}"))
    outage.deployment.deliver()
    for _ in range(25):
        outage.deployment.clock.advance(HOUR_S - MINUTE_S)
        outage.pass_minutes(1)
    assert outage.deployment.expire_items() >= 3
    outage.pass_minutes(3)
    assert not outage.gap.is_open
    outage.shop.book.create(Trip(id="live"))
    outage.pass_minutes(2)
    outage.disable()
    outage.shop.book.create(Trip(id="lost"))
    outage.pass_minutes(2)
    outage.deployment.clock.advance(2 * HOUR_S)
    outage.enable()
    outage.pass_minutes(2)
    assert outage.shop.book.read(Trip.ever("sea")).items == 4
    job = outage.shop.recover()
    assert (job.outcome, job.reason) == ("repaired", "")
    assert not outage.gap.is_open
    outage.pass_minutes(2)
    assert outage.shop.book.read(Trip.ever("sea")).items == 5


def test_what_expired_meanwhile_is_named(outage: Outage) -> None:
    outage.shop.book.create(Sale(id="s9", customer="c0"))
    outage.deployment.deliver()
    outage.disable()
    outage.pass_minutes(1)
    outage.deployment.clock.advance(30 * HOUR_S)
    assert outage.deployment.expire_items() >= 6
    outage.enable()
    outage.pass_minutes(2)
    job = outage.shop.recover()
    assert "6 of Visit (acme#Visit#v0 -" in job.reason
    assert not outage.gap.is_open
    assert outage.deployment.list_archived_items(Visit) == []
    assert (Kind.ROW_WITHOUT_ITEM in {f.kind for f in outage.shop.list_findings(job)}) is True


def test_what_expired_meanwhile_is_archived_from_a_copy(outage: Outage) -> None:
    shop, deployment, books = outage.shop, outage.deployment, outage.shop.book
    for number in range(3):
        books.create(Trip(id=f"t{number}"))
    deployment.deliver()
    copy, at = outage.copy_table(), deployment.clock.now()
    outage.disable()
    books.delete(Visit.key("v5"))
    books.create(Trip(id="unseen"))
    outage.pass_minutes(1)
    deployment.clock.advance(30 * HOUR_S)
    assert deployment.expire_items() == 5 + 4
    books.create(Trip(id="t0"))  # a later life
    outage.enable()
    outage.pass_minutes(2)
    lost = outage.find_lost(copy, at)
    assert outage.archive_meanwhile(lost) == 9
    assert outage.archive_meanwhile(replace(lost, run_id="again")) == 0
    job = shop.recover()
    assert not outage.gap.is_open, job.reason
    outage.pass_minutes(2)
    # Nothing shows that a user has deleted v5, or that there ever was the trip `unseen`.
    assert {each.id for each in deployment.list_archived_items(Visit)} == {
        f"v{number}" for number in range(6)
    }
    assert {each.id for each in deployment.list_archived_items(Trip)} == {"t0", "t1", "t2"}
    assert books.read(Trip.ever("sea")).items == 4
    assert shop.verify().outcome == "clean"


def test_without_a_gap_nothing_is_recovered(outage: Outage) -> None:
    with pytest.raises(Invalid, match=NO_GAP):
        outage.shop.recover()
    assert find_verification(outage.shop.table) is None


def test_a_recovery_beside_another_is_refused(outage: Outage) -> None:
    lose_stream(outage)
    outage.pass_minutes(1)
    asked = VerifyJob("", keys.render_instant(outage.deployment.clock.now()))
    first = request_recovery(outage.shop.table, asked, LEDGER)
    with pytest.raises(Conflict, match=first.id):
        outage.shop.recover()


def test_a_stream_that_is_still_disabled_is_not_recovered(outage: Outage) -> None:
    outage.disable()
    outage.pass_minutes(1)
    job = outage.shop.recover()
    assert (job.state, job.outcome) == ("failed", None)
    assert job.reason.startswith(DISABLED)
    assert outage.gap.is_open


def test_a_stream_of_an_earlier_label_is_not_recovered(outage: Outage) -> None:
    outage.disable()
    outage.deployment._recorder.begin_stream("2001-01-01T00:00:00.000", 0)
    outage.pass_minutes(1)
    job = outage.shop.recover()
    assert (job.state, "is before" in job.reason) == ("failed", True)
    assert outage.gap.is_open


def test_an_open_claim_waits_for_a_redrive(outage: Outage) -> None:
    lose_stream(outage)
    lose_payload(outage)
    (shard,) = outage.deployment._recorder.open_shards
    (claim,) = read_shard(outage.shop.table, shard).open_claims
    failures = outage.shop.open_bucket(FAILURE_BUCKET)
    failures.create(claims.render_payload_name(shard, claim.seq), b"{}", {}, "text/plain")
    outage.pass_minutes(1)
    job = outage.shop.recover()
    assert (job.state, "daicho redrive" in job.reason) == ("failed", True)
    assert read_shard(outage.shop.table, shard).open_claims == (claim,)


def test_somebody_may_know_of_a_loss(outage: Outage) -> None:
    gap = declare_gap(outage.shop.table, "the bucket was emptied", outage.deployment.clock.now())
    assert read_gap(outage.shop.table) == replace(gap, revision=gap.revision + 1)
    outage.pass_minutes(1)
    assert outage.read_count().uncertain
    assert outage.shop.recover().outcome == "clean"
    assert not outage.gap.is_open


def test_steps_may_be_killed_anywhere(outage: Outage) -> None:
    outage.disable()
    outage.shop.book.create(Sale(id="s20", customer="c0"))
    outage.deployment.clock.advance(MINUTE_S)
    outage.enable()
    outage.pass_minutes(1)
    asked = VerifyJob("", keys.render_instant(outage.deployment.clock.now()))
    job = request_recovery(outage.shop.table, asked, LEDGER)
    writes = 0
    while outage.shop.kill_step(job, writes):
        writes += 1
        outage.deployment.clock.advance(MINUTE_S)
    assert writes > 5
    for _ in range(5):
        outage.deployment.clock.advance(outage.shop.step(job).wait)
    assert not outage.gap.is_open
    outage.pass_minutes(2)
    assert outage.read_count().items == 7
    assert outage.shop.verify().outcome == "clean"


def test_rebuilds_wait_for_the_recovery(outage: Outage) -> None:
    lose_stream(outage)
    outage.pass_minutes(1)
    worker = outage.shop._build_worker()
    job = VerifyJob("", keys.render_instant(outage.deployment.clock.now()))
    step: Any = TableStep(worker, job, outage.shop._make_budget(60))
    waiting = step.wait_for_deployment()
    assert (waiting.done, waiting.wait) == (False, GAP_WAIT_S)
    assert "daicho recover" in job.reason
