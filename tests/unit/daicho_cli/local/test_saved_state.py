"""What the local AWS has saved is checked before it starts, before it stops, and afterwards."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from daicho_cli.local import lifecycle
from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.saved_state import (
    check_readable,
    check_room,
    check_saved,
    has_objects_of_no_stack,
)
from tests.support.repository import PROJECT

DAY = 86_400


@pytest.fixture
def place(tmp_path: Path) -> LocalInstance:
    """A copy whose last stop has saved two services."""
    place = LocalInstance(tmp_path, 4600, PROJECT)
    (place.data / "state").mkdir(parents=True)
    for service in ("cognito", "dynamodb"):
        (place.data / f"state/{service}.json").write_text("{}", "ascii")
    return place


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file of this process can be larger than 500 KB, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("content", ["", '{"payload": ', "\0\0"])
def test_a_damaged_file_is_named_before_anything_starts(place: LocalInstance, content: str) -> None:
    check_readable(place)
    (place.data / "state/dynamodb.json").write_text(content, "ascii")
    with pytest.raises(LocalError, match=r"dynamodb\.json cannot be read .*make reset"):
        check_readable(place)


@pytest.mark.usefixtures("small_files")
def test_nothing_is_stopped_that_could_not_be_saved(place: LocalInstance) -> None:
    with pytest.raises(LocalError, match=r"could not save the data: .* still runs; make room"):
        check_room(place)
    assert not (place.data / "state/room.tmp").exists()


def test_with_room_the_probe_leaves_nothing(place: LocalInstance) -> None:
    check_room(place)
    assert sorted(each.name for each in (place.data / "state").iterdir()) == [
        "cognito.json",
        "dynamodb.json",
    ]


def test_a_service_that_was_not_saved_is_named(place: LocalInstance) -> None:
    began = time.time()
    check_saved(place, began)
    os.utime(place.data / "state/cognito.json", (began - DAY, began - DAY))
    with pytest.raises(LocalError, match=r"not saved: cognito\. .*ministack\.log"):
        check_saved(place, began)
    (place.data / "state/dynamodb.json").unlink()
    with pytest.raises(LocalError, match="not saved: dynamodb, cognito"):
        check_saved(place, began)


def test_objects_without_a_stack_are_left_by_a_kill_before_the_first_stop(
    place: LocalInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = {"now": ""}
    monkeypatch.setattr(lifecycle, "read_status", lambda *_: status["now"])
    (place.data / "s3/a-bucket").mkdir(parents=True)
    assert lifecycle.find_half_made(place) == ""  # a stop has saved the table
    (place.data / "state/dynamodb.json").unlink()
    assert has_objects_of_no_stack(place)
    assert "only its objects are left" in lifecycle.find_half_made(place)
    status["now"] = "UPDATE_ROLLBACK_FAILED"  # it has data
    assert lifecycle.find_half_made(place) == ""
    status["now"] = "ROLLBACK_COMPLETE"
    assert "it is ROLLBACK_COMPLETE" in lifecycle.find_half_made(place)
