"""Reading the archive: no more than what is asked for, and what is broken is named."""

from __future__ import annotations

import datetime as dt
from itertools import islice
from typing import Any

import pytest

from daicho.archive.reader import Selection
from daicho.storage.attributes import get_key
from tests.support.memory_archive import DAY, MIDNIGHT, Kept, build_download


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
    rows = kept.archive.read_rows(Selection(**asked), lambda name, _: broken.append(name))
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
        ({"key": get_key(build_download(2))}, [2]),
        ({"key": get_key(build_download(2)), "entities": ("Gone",)}, []),
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


@pytest.mark.parametrize("name", ["写し", "~~", "\U0010ffff", "dt=~", "0", ""])
def test_an_entity_is_listed_once_whatever_lies_in_its_folder(kept: Kept, name: str) -> None:
    kept.bucket.create(f"entity=Download/{name}", b"", {})
    found = islice(kept.archive.list_entities(), 5)
    assert list(found) == ["Download", "Gone"]
