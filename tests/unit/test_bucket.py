"""The bucket: create, read, list, move."""

from __future__ import annotations

import datetime as dt

import pytest

from daicho.bucket import Bucket
from tests.delivery.objects import Objects


@pytest.fixture
def objects() -> Objects:
    return Objects(lambda: dt.datetime(2026, 11, 21, tzinfo=dt.UTC))


@pytest.fixture
def bucket(objects: Objects) -> Bucket:
    return Bucket(objects, "failures")  # type: ignore[arg-type]


def test_an_object_is_created_once(bucket: Bucket) -> None:
    assert bucket.create("a", b"1", {"last": "1"})
    assert not bucket.create("a", b"2", {"last": "2"})
    assert bucket.read("a") == b"1"
    assert bucket.metadata("a") == {"last": "1"}
    assert bucket.read("b") is None


def test_names_come_in_order_page_after_page(bucket: Bucket) -> None:
    names = [f"p/{number:04d}" for number in range(2_500)]
    for name in reversed(names):
        bucket.create(name, b"", {})
    bucket.create("q", b"", {})
    assert list(bucket.names("p/")) == names
    assert list(bucket.names("p/", behind="p/2497")) == names[2_498:]
    assert list(bucket.names("r")) == []


def test_a_moved_object_has_one_name_and_moving_it_again_does_nothing(
    bucket: Bucket, objects: Objects
) -> None:
    bucket.create("a", b"1", {})
    for _ in range(2):
        bucket.move("a", "done/a")
    assert list(objects.stored) == ["done/a"]
    assert bucket.read("done/a") == b"1"
