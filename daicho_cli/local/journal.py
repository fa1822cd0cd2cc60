"""The file in which the local AWS saves each write before it answers it: SQLite's write-ahead log.

All changes of one request are one entry. A thread writes the entries that wait as one transaction,
so that they share one fsync. SQLite frames and checksums the log: after a crash, everything up to
the last whole transaction is there, and nothing of a later one.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = "journal.db"
Change = tuple[str, Sequence[Any]]
"""An SQL statement and its parameters."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS service (name TEXT PRIMARY KEY, state TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS item
    (table_id TEXT, pk TEXT, sk TEXT, item TEXT, PRIMARY KEY (table_id, pk, sk)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS record
    (stream TEXT, position INTEGER, record TEXT, PRIMARY KEY (stream, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS position (mapping TEXT PRIMARY KEY, position INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS token (scope TEXT PRIMARY KEY, entry TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS invocation (id TEXT PRIMARY KEY, invocation TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS object (account TEXT, bucket TEXT, key TEXT, object TEXT,
    PRIMARY KEY (account, bucket, key));
CREATE TABLE IF NOT EXISTS message
    (queue TEXT, id TEXT, message TEXT, PRIMARY KEY (queue, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stop (at REAL);
"""
SECONDS_BETWEEN_TRIALS = 1.0
"""The pause after a transaction that failed; then it is tried again, with what waits meanwhile."""
PAGES_OF_LOG = 4_000
"""The length of the log, in pages of 4 KB, at which SQLite copies it into the database file."""
ROWS = 200
"""How many rows a statement inserts at most: SQLite before 3.32 takes 999 values, an item has 4."""


class NotSaved(Exception):
    """The changes could not be written to the file; its text is the reason."""


@dataclass
class _Group:
    changes: list[Change] = field(default_factory=list)
    written: Future[None] = field(default_factory=Future)


def merge_inserts(changes: Iterable[Change]) -> Iterator[Change]:
    """The same changes with one statement for many rows of a table.

    At each statement, the journal's thread lets the one run that answers requests, and waits until
    it may continue. All answers wait for the journal.
    """
    rows: dict[str, list[Sequence[Any]]] = {}

    def take_rows() -> Iterator[Change]:
        for statement, all_values in rows.items():
            head, _, row = statement.partition(" VALUES ")
            merged = f"{head} VALUES {', '.join([row] * len(all_values))}"
            yield merged, [value for values in all_values for value in values]
        rows.clear()

    for statement, values in changes:
        if " VALUES " in statement:
            waiting = rows.setdefault(statement, [])
            waiting.append(values)
            if len(waiting) == ROWS:
                yield from take_rows()
        else:
            yield from take_rows()
            yield statement, values
    yield from take_rows()


class Journal:
    """An open file; no other process can open it.

    Attributes:
        failure: why the last transaction failed; "" if it did not.

    Raises:
        sqlite3.Error: the file cannot be opened or written, or another process has it.
    """

    def __init__(self, file: Path) -> None:
        self.failure = ""
        self.connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        # The exclusive mode is first: then the log needs no shared memory.
        self.connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute(f"PRAGMA wal_autocheckpoint={PAGES_OF_LOG}")
        self.connection.executescript(SCHEMA)
        self._changed = threading.Condition()
        self._waiting, self._writing = _Group(), _Group()
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="journal")
        self._thread.start()

    @property
    def unsaved(self) -> int:
        """The number of changes that are not in the file yet."""
        return len(self._waiting.changes) + len(self._writing.changes)

    def append(self, changes: Iterable[Change]) -> None:
        """Add an entry; its changes are written together. `settle` waits until they are."""
        with self._changed:
            self._waiting.changes.extend(changes)
            self._changed.notify()

    async def settle(self) -> None:
        """Wait until every earlier entry is in the file.

        Raises:
            NotSaved: they could not be written. They are tried again.
        """
        written = self._find_last()
        if written is not None:
            await asyncio.wrap_future(written)

    def settle_blocking(self, seconds: float) -> None:
        """`settle` for a thread that may block.

        Raises:
            NotSaved: they could not be written in this time.
        """
        written = self._find_last()
        if written is not None:
            try:
                written.result(seconds)
            except TimeoutError:
                raise NotSaved(f"the disk did not answer in {seconds:.0f} s") from None

    def close(self) -> None:
        """End the thread and close the file; what could not be written is lost."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self.connection.close()

    def _find_last(self) -> Future[None] | None:
        with self._changed:
            for group in (self._waiting, self._writing):
                if group.changes:
                    return group.written
        return None

    def _run(self) -> None:
        while True:
            with self._changed:
                if self.failure and not self._closed:
                    self._changed.wait_for(lambda: self._closed, SECONDS_BETWEEN_TRIALS)
                self._changed.wait_for(lambda: self._closed or self._waiting.changes)
                if not self._waiting.changes:
                    return
                self._writing, self._waiting = self._waiting, _Group()
            failure = self._write(self._writing.changes)
            with self._changed:
                group, self._writing = self._writing, _Group()
                self.failure = failure
                if failure:
                    self._waiting.changes[:0] = group.changes
            if failure:
                group.written.set_exception(NotSaved(failure))
                if self._closed:
                    return
            else:
                group.written.set_result(None)

    def _write(self, changes: Sequence[Change]) -> str:
        """Write one transaction; why it failed, "" if it did not."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            for statement, values in merge_inserts(changes):
                self.connection.execute(statement, values)
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self.connection.in_transaction:
                self.connection.rollback()
            return str(error)
        return ""
