"""The journal of the local AWS: whole transactions, after any crash, and errors that are told."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from daicho_cli.local import journal as module
from daicho_cli.local.journal import FILE, ROWS, Change, Journal, NotSaved, merge_inserts
from tests.support.repository import ROOT
from tests.support.trials import IS_TRIAL

PUT = "REPLACE INTO position VALUES (?, ?)"
SECONDS = 10.0
KILLS = 4
WRITER = """
import sys
from pathlib import Path
from daicho_cli.local.journal import Journal
journal = Journal(Path(sys.argv[1]))
journal.connection.execute("PRAGMA wal_autocheckpoint=2")
number = int(sys.argv[2])
while True:
    number += 1
    journal.append(
        [("REPLACE INTO position VALUES (?, ?)", (side, number)) for side in ("a", "b")]
        + [("REPLACE INTO service VALUES (?, ?)", (str(number), "x" * 3000))]
    )
    journal.settle_blocking(10)
    print(number, flush=True)
"""


def make_pair(number: int) -> list[Change]:
    return [(PUT, (side, number)) for side in ("a", "b")]


def read_pair(file: Path) -> tuple[int, ...]:
    connection = sqlite3.connect(file)
    try:
        rows = connection.execute("SELECT position FROM position ORDER BY mapping").fetchall()
    finally:
        connection.close()
    return tuple(position for (position,) in rows)


def use_small_pages(file: Path) -> None:
    """A file whose pages are so small that a log has few bytes, of which each can be the last."""
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA page_size=512")
    connection.execute("VACUUM")
    connection.close()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    made = Journal(tmp_path / FILE)
    yield made
    made.close()


def test_a_log_that_is_cut_at_any_byte_contains_whole_entries(tmp_path: Path) -> None:
    file, cut = tmp_path / FILE, tmp_path / "cut" / FILE
    cut.parent.mkdir()
    use_small_pages(file)
    Journal(file).close()
    journal = Journal(file)
    for number in (1, 2, 3):
        journal.append(make_pair(number))
        journal.settle_blocking(SECONDS)
    log = Path(f"{file}-wal").read_bytes()
    shutil.copy(file, tmp_path / "database")
    journal.close()
    read = []
    # Each byte in a trial; else each seventh, which meets each field of the frames.
    for length in [*range(0, len(log), 1 if IS_TRIAL else 7), len(log)]:
        Path(f"{cut}-shm").unlink(missing_ok=True)
        shutil.copy(tmp_path / "database", cut)
        Path(f"{cut}-wal").write_bytes(log[:length])
        read.append(read_pair(cut))
    assert sorted(read) == read
    assert set(read) == {(), (1, 1), (2, 2), (3, 3)}
    damaged = log[:-5] + bytes([log[-5] ^ 1]) + log[-4:]
    shutil.copy(tmp_path / "database", cut)
    Path(f"{cut}-wal").write_bytes(damaged)
    assert read_pair(cut) == (2, 2)


def test_a_kill_in_any_step_of_a_checkpoint_loses_nothing(tmp_path: Path) -> None:
    chance, number = random.Random(1), 0
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, tmp_path / FILE, str(number)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
        ) as writer:
            assert writer.stdout
            first = writer.stdout.readline()
            time.sleep(chance.uniform(0.01, 0.2))
            writer.send_signal(signal.SIGKILL)
            number = max(map(int, [first, *writer.stdout.read().split()]))
        left, right = read_pair(tmp_path / FILE)
        assert left == right
        assert number <= left <= number + 1
        number = left


def test_entries_that_wait_share_a_transaction(journal: Journal) -> None:
    statements: list[str] = []
    journal.connection.set_trace_callback(statements.append)

    async def write(number: int) -> None:
        journal.append(make_pair(number))
        await journal.settle()

    async def write_all() -> None:
        await asyncio.gather(*map(write, range(200)))

    asyncio.run(write_all())
    assert 1 <= statements.count("COMMIT") <= 20
    assert journal.unsaved == 0


@pytest.mark.parametrize(
    ("refuse", "accept", "reason"),
    [
        ("max_page_count={pages}", "max_page_count=100000", "full"),
        ("query_only=1", "query_only=0", "readonly"),
    ],
)
def test_a_disk_that_takes_nothing_is_an_error_until_it_does(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, refuse: str, accept: str, reason: str
) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_TRIALS", 0.05)
    journal.append(make_pair(1))
    journal.settle_blocking(SECONDS)
    (pages,) = journal.connection.execute("PRAGMA page_count").fetchone()
    journal.connection.execute(f"PRAGMA {refuse.format(pages=pages)}")
    journal.append([*make_pair(2), ("REPLACE INTO service VALUES ('x', ?)", ("x" * 100_000,))])
    with pytest.raises(NotSaved, match=reason):
        journal.settle_blocking(SECONDS)
    assert reason in journal.failure
    journal.append(make_pair(3))
    with pytest.raises(NotSaved, match=reason):
        asyncio.run(journal.settle())
    assert journal.unsaved == 5
    rows = journal.connection.execute("SELECT DISTINCT position FROM position").fetchall()
    assert rows == [(1,)]
    journal.connection.execute(f"PRAGMA {accept}")
    until = time.monotonic() + SECONDS
    while journal.failure and time.monotonic() < until:
        time.sleep(0.01)
    assert (journal.failure, journal.unsaved) == ("", 0)
    rows = journal.connection.execute("SELECT DISTINCT position FROM position").fetchall()
    assert rows == [(3,)]


def test_many_rows_are_one_statement_and_what_follows_them_comes_after_them() -> None:
    remove = "DELETE FROM position WHERE mapping = ?"
    service: Change = ("REPLACE INTO service VALUES ('x', ?)", ("state",))
    changes = [*make_pair(1), service, *make_pair(2), (remove, ("a",)), *make_pair(3) * ROWS]
    merged = list(merge_inserts(changes))
    assert [statement.count("?") for statement, _ in merged] == [8, 1, 1, *[2 * ROWS] * 2]
    assert merged[0] == (f"{PUT}, (?, ?), (?, ?), (?, ?)", ["a", 1, "b", 1, "a", 2, "b", 2])
    tables = [sqlite3.connect(":memory:") for _ in range(2)]
    for connection, all_changes in zip(tables, (changes, merged), strict=True):
        connection.executescript(module.SCHEMA)
        for statement, values in all_changes:
            connection.execute(statement, values)
    one_by_one, together = (list(connection.iterdump()) for connection in tables)
    assert one_by_one == together


def test_two_processes_do_not_share_a_journal(journal: Journal, tmp_path: Path) -> None:
    journal.append(make_pair(1))
    journal.settle_blocking(SECONDS)
    other = sqlite3.connect(tmp_path / FILE, timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("SELECT * FROM position")
    other.close()
