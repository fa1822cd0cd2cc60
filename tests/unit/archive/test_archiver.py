"""The archiver: every expired item into its chain once, over a table and a bucket in memory."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from daicho.archive.archiver import Archiver
from daicho.archive.chain_writer import BrokenChainError
from daicho.storage.attributes import Image
from daicho.stream.records import Batch, render_sequence
from tests.support.memory_archive import PATIENCE, build_download, build_expired_batch
from tests.support.memory_stores import MemoryBucket, MemoryTable
from tests.support.sample_ledger import LEDGER
from tests.support.stream_events import LABEL


def archive(table: Any, bucket: Any, given: Batch) -> str | None:
    return Archiver(table, bucket, LEDGER).archive(given, PATIENCE)


def read_rows(bucket: MemoryBucket) -> list[Any]:
    return [
        json.loads(line)
        for name in sorted(bucket.objects)
        for line in gzip.decompress(bucket.objects[name][0]).splitlines()
    ]


def test_a_row_holds_the_item_exactly() -> None:
    bucket = MemoryBucket()
    odd: dict[str, Any] = {
        "n": {"N": "0.12345678901234567890123456789012345678"},
        "b": {"B": "AAE="},
    }
    assert archive(MemoryTable(), bucket, build_expired_batch(7, **odd)) is None
    (row,) = read_rows(bucket)
    assert row == {
        "tenant": "t",
        "entity": "Download",
        "gen": 1,
        "deleted_at": "2026-11-21T00:00:00.000000Z",
        "seq": render_sequence(LABEL, "7"),
        "raw": False,
        "item": {**build_download(7), **odd},
    }
    assert list(bucket.objects) == ["entity=Download/dt=2026-11-21/s_0.json.gz"]


@pytest.mark.parametrize("gen", [{"N": "9"}, {"S": "one"}, {"N": "x"}, {"NULL": True}])
def test_what_no_plan_can_read_is_archived_all_the_same(gen: Image) -> None:
    bucket = MemoryBucket()
    archive(MemoryTable(), bucket, build_expired_batch(1, gen=gen))
    (row,) = read_rows(bucket)
    assert (row["item"]["gen"], row["raw"]) == (gen, True)


def test_something_else_under_a_link_s_name_is_an_error() -> None:
    bucket = MemoryBucket()
    bucket.create("entity=Download/dt=2026-11-21/s_0.json.gz", b"", {})
    with pytest.raises(BrokenChainError):
        archive(MemoryTable(), bucket, build_expired_batch(1))
