"""Reading the archive: no more than what is asked for, and what is broken is named."""

from __future__ import annotations

import datetime as dt
import json
from itertools import islice
from typing import Any

import pytest

from daicho.archive.reader import Archive, Days, Selection
from daicho.archive.row_format import Row, RowError
from daicho.storage.item_key import key_of
from tests.delivery.aws.memory import MemoryBucket
from tests.support.memory_archive import (
    DAY,
    MIDNIGHT,
    TODAY,
    WEEK_LATER,
    Kept,
    batch,
    download,
    name_after,
)
from tests.support.sample_ledger import LEDGER

TOMORROW = TODAY + dt.timedelta(days=1)


@pytest.fixture
def kept() -> Kept:
    made = Kept()
    made.append(1, 2)
    made.append(3, tenant="u")
    made.append(4, at=MIDNIGHT + DAY)
    made.append(5, at=MIDNIGHT + 2 * DAY, type={"S": "Gone"})
    return made


def numbers(kept: Kept, **asked: Any) -> list[int]:
    broken: list[str] = []
    rows = kept.archive.rows(Selection(**asked), lambda name, _: broken.append(name))
    found = [int(row.seq.rsplit("#")[-1]) for row in rows]
    assert broken == []
    return found


def at(days: float) -> dt.datetime:
    return dt.datetime(2026, 11, 21, tzinfo=dt.UTC) + dt.timedelta(days=days)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"entities": ("Download",)}, [1, 2, 3, 4]),
        ({"entities": ("Gone", "Download")}, [1, 2, 3, 4, 5]),
        ({"entities": ("Never",)}, []),
        ({"tenant": "u"}, [3]),
        ({"tenant": "nobody"}, []),
        ({"key": key_of(download(2))}, [2]),
        ({"key": key_of(download(2)), "entities": ("Gone",)}, []),
        ({"since": at(1)}, [4, 5]),
        ({"until": at(1)}, [1, 2, 3]),
        ({"since": at(0.5), "until": at(1.5)}, [4]),
        ({"since": at(0), "until": at(0)}, []),
        ({"tenant": "t", "until": at(2)}, [1, 2, 4]),
    ],
)
def test_rows_are_selected(kept: Kept, asked: dict[str, Any], expected: list[int]) -> None:
    assert numbers(kept, **asked) == expected


def test_a_time_in_another_zone_is_the_same_time(kept: Kept) -> None:
    tokyo = dt.timezone(dt.timedelta(hours=9))
    assert numbers(kept, since=at(1).astimezone(tokyo)) == [4, 5]


class Counting(MemoryBucket):
    """A bucket that tells which objects were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read_names: list[str] = []

    def fetch(self, key: str, version: str | None = None) -> Any:
        self.read_names.append(key)
        return super().fetch(key, version)


def test_only_the_partitions_that_can_hold_it_are_read() -> None:
    kept = Kept(bucket=Counting())
    for day in range(5):
        kept.append(day + 1, at=MIDNIGHT + day * DAY)
    bucket = kept.bucket
    assert isinstance(bucket, Counting)
    assert numbers(kept, since=at(3)) == [4, 5]
    assert [name.split("/")[1] for name in bucket.read_names] == ["dt=2026-11-24", "dt=2026-11-25"]


@pytest.mark.parametrize("name", ["写し", "~~", "\U0010ffff", "dt=~", "0", ""])
def test_an_entity_is_listed_once_whatever_lies_in_its_folder(kept: Kept, name: str) -> None:
    kept.bucket.create(f"entity=Download/{name}", b"", {})
    found = islice(kept.archive.entities(), 5)
    assert list(found) == ["Download", "Gone"]


def test_objects_are_listed_by_entity_and_day(kept: Kept) -> None:
    assert list(kept.archive.entities()) == ["Download", "Gone"]
    assert [each.name for each in kept.archive.links("Download", Days.of(TOMORROW))] == [
        name_after(0).replace("11-21", "11-22")
    ]
    assert list(kept.archive.links("Download", Days(WEEK_LATER.date()))) == []
    kept.bucket.create("entity=Download/notes.txt", b"", {})
    assert len(list(kept.archive.links("Download"))) == 3
    assert [each.name for each in kept.archive.stored("Download") if each.link is None] == [
        "entity=Download/notes.txt"
    ]


def test_a_broken_object_is_named_and_passed_over(kept: Kept) -> None:
    kept.bucket.spoil(name_after(0), b"not gzip at all")
    broken: dict[str, str] = {}
    rows = kept.archive.rows(Selection(), lambda name, error: broken.update({name: str(error)}))
    assert [int(row.seq.rsplit("#")[-1]) for row in rows] == [3, 4, 5]
    assert list(broken) == [name_after(0)]
    assert "cannot be unpacked" in broken[name_after(0)]


def test_an_empty_archive_is_empty() -> None:
    archive = Archive(MemoryBucket())
    assert list(archive.entities()) == []
    assert list(archive.rows(Selection(), lambda *_: None)) == []


ODD: list[dict[str, Any]] = [
    {"n": {"N": "0.12345678901234567890123456789012345678"}, "b": {"B": "AAE="}},
    {"text": {"S": "台帳 \u2028 \r\n \x00 💿"}},
    {"text": {"S": "half \ud83d of a pair"}},
    {"deep": {"M": {"l": {"L": [{"NULL": True}, {"BOOL": False}, {"SS": ["a"]}]}}}},
]


@pytest.mark.parametrize("odd", ODD)
def test_a_row_is_read_as_it_was_written(odd: dict[str, Any]) -> None:
    (record,) = batch(1, **odd).records
    row = Row.of(record, LEDGER)
    assert row.line.count(b"\n") == 1
    assert Row.parse(row.line) == row
    assert Row.parse(row.line).item == {**download(1), **odd}


@pytest.mark.parametrize(
    ("changed", "raw"),
    [
        ({}, False),
        ({"extra": {"S": "of no concern"}}, False),
        ({"gen": {"N": "9"}}, True),
        ({"gen": {"S": "one"}}, True),
        ({"song": {"N": "1"}}, True),
        ({"song": {"S": "2"}}, True),
        ({"id": {"S": "another"}}, True),
        ({"type": {"S": "Unheard"}}, True),
    ],
)
def test_what_the_model_cannot_read_is_flagged(changed: dict[str, Any], raw: bool) -> None:
    (record,) = batch(1, **changed).records
    assert Row.of(record, LEDGER).raw is raw


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b'{"tenant": 1}',
        b"\xff",
        b"null",
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_something_else_is_no_row(line: bytes) -> None:
    with pytest.raises(RowError):
        Row.parse(line)


EDITED: list[dict[str, Any]] = [
    {"seq": "1"},
    {"seq": "label#²"},
    {"seq": f"label#{'9' * 5000}"},
    {"deleted_at": "2026-11-21"},
    {"deleted_at": 1},
    {"item": {}},
    {"item": {"PK": {"S": "t"}, "SK": {"N": "1"}}},
    {"item": [1]},
    {"tenant": None},
    {"gen": "1"},
    {"gen": True},
]


@pytest.mark.parametrize("changed", EDITED, ids=str)
def test_a_row_that_was_made_by_hand_is_none(changed: dict[str, Any]) -> None:
    (record,) = batch(1).records
    written = json.loads(Row.of(record, LEDGER).line)
    assert Row.parse(json.dumps(written)) == Row.of(record, LEDGER)
    with pytest.raises(RowError):
        Row.parse(json.dumps({**written, **changed}))
