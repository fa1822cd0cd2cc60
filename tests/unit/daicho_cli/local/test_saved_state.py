"""What the local AWS has saved is checked before it starts, and after it was stopped."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from daicho_cli.local import lifecycle
from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.journal import FILE, Journal
from daicho_cli.local.saved_state import check_readable, check_saved
from tests.support.repository import PROJECT


@pytest.fixture
def place(tmp_path: Path) -> LocalInstance:
    place = LocalInstance(tmp_path, 4600, PROJECT)
    (place.data / "state").mkdir(parents=True)
    return place


def save(place: LocalInstance, *, is_stopped: bool) -> Path:
    journal = Journal(place.data / "state" / FILE)
    journal.append([("REPLACE INTO service VALUES ('s3', ?)", ("x" * 50_000,))])
    if is_stopped:
        journal.append([("INSERT INTO stop VALUES (1)", ())])
    journal.close()
    return place.data / "state" / FILE


def test_a_damaged_file_is_named_before_anything_starts(place: LocalInstance) -> None:
    check_readable(place)  # nothing is saved yet
    file = save(place, is_stopped=True)
    check_readable(place)
    content = bytearray(file.read_bytes())
    content[4096:8192] = bytes(4096)
    file.write_bytes(content)
    with pytest.raises(LocalError, match=r"(?s)journal\.db cannot be read .*make reset"):
        check_readable(place)
    file.write_bytes(b"no database")
    with pytest.raises(LocalError, match=r"cannot be read \(file is not a database\)"):
        check_readable(place)


def test_data_of_an_earlier_version_is_not_started_over(place: LocalInstance) -> None:
    (place.data / "state/dynamodb.json").write_text("{}", "ascii")
    with pytest.raises(LocalError, match=r"an earlier version .*make reset"):
        check_readable(place)


def test_a_stop_that_has_not_saved_everything_is_an_error(place: LocalInstance) -> None:
    file = save(place, is_stopped=False)
    with pytest.raises(LocalError, match=r"not saved: .*ministack\.log"):
        check_saved(place)
    save(place, is_stopped=True)
    check_saved(place)
    connection = sqlite3.connect(file)
    connection.execute("DROP TABLE stop")
    connection.close()
    with pytest.raises(LocalError, match=r"not saved: .*no such table"):
        check_saved(place)


def test_a_stack_that_was_never_complete_is_half_made(
    place: LocalInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = {"now": "UPDATE_ROLLBACK_FAILED"}  # it has data
    monkeypatch.setattr(lifecycle, "read_status", lambda *_: status["now"])
    assert lifecycle.find_half_made(place) == ""
    status["now"] = "ROLLBACK_COMPLETE"
    assert "it is ROLLBACK_COMPLETE" in lifecycle.find_half_made(place)
