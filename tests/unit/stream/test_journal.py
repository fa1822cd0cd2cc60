"""The journal of a verification: when a batch writes it, and what it has (rule 36)."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.derive.contributions import ONE_ITEM, Amount
from daicho.errors import ConditionFailedError, UnavailableError
from daicho.storage.attributes import get_key
from daicho.storage.protocols import apply_update
from daicho.storage.requests import to_key_image
from daicho.stream.claims import Claim, build_shard_key, put_claim_update
from daicho.stream.journal import (
    NO_RUN,
    RUN_KEY,
    JournalEntry,
    JournalFlag,
    parse_amount,
    parse_batch,
    render_batch_prefix,
    render_item,
    set_flag_update,
    to_plain_amount,
)
from daicho.stream.projector import Projector
from daicho.stream.records import Batch
from tests.support.invocation_time import Time
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import LEDGER
from tests.support.song_stream import COUNT, NOW, build_seq_value, build_song
from tests.support.stream_events import build_batch

FLAG = JournalFlag("run", "2026-11-22T00:00:00.000000Z")
SHARD = build_shard_key("s")


class BrokenBucket(MemoryBucket):
    """A bucket that takes nothing."""

    def create(self, key: str, *_: Any, **__: Any) -> bool:
        raise UnavailableError(key)


def project(table: MemoryTable, bucket: MemoryBucket, batch: Batch) -> str | None:
    projector = Projector(table, bucket, LEDGER, dirty_shards=1, now=lambda: NOW)
    return projector.project(batch, Time().retry_budget)


def read_entries(bucket: MemoryBucket, tally: str = COUNT.pk) -> list[JournalEntry]:
    names = list(bucket.list_names(render_batch_prefix("run")))
    return [
        entry
        for name in names
        for entry in parse_batch(name, bucket.read(name) or b"")
        if entry.tally == tally
    ]


def set_flag(table: MemoryTable, flag: JournalFlag = FLAG) -> None:
    apply_update(table, set_flag_update("s", flag.render(), NOW))


def test_a_batch_journals_what_its_records_add_and_what_their_items_contribute() -> None:
    table, bucket = MemoryTable(), MemoryBucket()
    set_flag(table)
    project(table, bucket, build_batch((None, build_song("b")), (build_song("b"), None)))
    item = render_item(get_key(build_song("b")))
    seqs = [build_seq_value(number)["S"] for number in (1, 2)]
    assert read_entries(bucket) == [
        JournalEntry("s", seqs[0], COUNT.pk, COUNT.sk, item, ONE_ITEM, ONE_ITEM),
        JournalEntry("s", seqs[1], COUNT.pk, COUNT.sk, item, -ONE_ITEM, Amount()),
    ]


def test_a_repeat_of_a_batch_writes_the_same_object() -> None:
    table, bucket = MemoryTable(), MemoryBucket()
    set_flag(table)
    for _ in range(2):
        project(table, bucket, build_batch((None, build_song("b"))))
    assert len(read_entries(bucket)) == 1
    project(table, bucket, build_batch((None, build_song("b")), (None, build_song("c", "2"))))
    assert len(read_entries(bucket)) == 3  # one record is in two objects


def test_without_a_valid_flag_nothing_is_journaled() -> None:
    table, bucket = MemoryTable(), MemoryBucket()
    set_flag(table, JournalFlag("run", "2026-11-20T00:00:00.000000Z"))
    project(table, bucket, build_batch((None, build_song("b"))))
    apply_update(table, set_flag_update("s", NO_RUN, NOW))
    project(table, bucket, build_batch((None, build_song("c", "2")), first=2))
    assert not list(bucket.list_names(""))


def test_a_new_shard_takes_the_flag_of_the_newest_run() -> None:
    table, bucket = MemoryTable(), MemoryBucket()
    project(table, bucket, build_batch((None, build_song("b"))))
    assert table.items[SHARD]["journal"] == {"S": NO_RUN}
    table, bucket = MemoryTable(), MemoryBucket()
    table.items[RUN_KEY] = {**to_key_image(RUN_KEY), "journal": {"S": FLAG.render()}}
    project(table, bucket, build_batch((None, build_song("b"))))
    assert table.items[SHARD]["journal"] == {"S": FLAG.render()}
    assert len(read_entries(bucket)) == 1


def test_an_earlier_run_takes_no_flag_from_a_later_one() -> None:
    table = MemoryTable()
    apply_update(table, set_flag_update("s", FLAG.render(), NOW, number=4))
    with pytest.raises(ConditionFailedError):
        apply_update(table, set_flag_update("s", "earlier", NOW, number=3))
    assert table.items[SHARD]["journal"] == {"S": FLAG.render()}
    apply_update(table, set_flag_update("s", "again", NOW, number=4))
    assert table.items[SHARD]["journal"] == {"S": "again"}


def test_no_slot_is_written_without_its_journal() -> None:
    table = MemoryTable()
    set_flag(table)
    assert project(table, BrokenBucket(), build_batch((None, build_song("b")))) == "1"
    assert COUNT not in table.items


def test_a_record_with_a_claim_is_not_journaled() -> None:
    table, bucket = MemoryTable(), MemoryBucket()
    set_flag(table)
    seq = build_seq_value(1)["S"]
    apply_update(table, put_claim_update("s", Claim(seq, "open", "Song", 1, NOW)))
    project(table, bucket, build_batch((None, build_song("b")), (None, build_song("c", "2"))))
    assert [entry.seq for entry in read_entries(bucket)] == [build_seq_value(2)["S"]]


def test_a_flag_is_valid_until_its_time() -> None:
    assert JournalFlag.parse(FLAG.render()) == FLAG
    assert JournalFlag.parse(NO_RUN) is JournalFlag.parse("") is None
    assert FLAG.is_valid(NOW)
    assert not FLAG.is_valid(NOW + dt.timedelta(days=1))


def test_an_amount_is_read_as_it_was_written() -> None:
    amount = ONE_ITEM + Amount(0, ONE_ITEM.total / 4, (("s0", ONE_ITEM.total),))
    assert parse_amount(to_plain_amount(amount)) == amount
    assert parse_amount(to_plain_amount(Amount())) == Amount()
