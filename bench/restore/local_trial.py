"""A stack of its own on the local AWS, under load: a tenant is moved back, a lost table replaced.

The commands are those of the how-to pages, in their order.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import boto3

from bench.speed.figures import Figure
from daicho.book.book import Book
from daicho.errors import Refusal
from daicho.runtime.rate_limit import RateLimiter
from daicho_cli.aws import Connection
from daicho_cli.local.environment import REGION
from daicho_cli.project import load_ledger
from domains.contacts import Contact
from tests.support.dynoxide import free_port
from tests.support.how_to_page import HowToPage
from tests.support.repository import ROOT

RATE, WRITERS = 150.0, 12
"""Writes a second at most: the commands that run meanwhile slow them down."""
MIN_RATE = 100
LOAD_S = 20.0
CONTACTS = 200
NOT_COPIED = {".git", ".local"}
OWN = {"data", "log", "port", "lock", "stack.json", "cdk.out", "ledgers"}
"""What a stack has of its own in the folder of programs."""


def measure_local_stack() -> Iterator[Figure]:
    """Run the trial; the local AWS is stopped and its data removed at the end."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as stack:
        with stack.loading("acme", "globex"):
            time.sleep(LOAD_S / 2)
            stack.follow("restore-the-table", 0, 1)  # a copy, while tenants write
            time.sleep(LOAD_S / 2)
        with stack.loading("globex"):
            began = time.monotonic()
            stack.daicho(
                *("restore", "--from-table", "daicho-copied", "--to", stack.now()),
                *("--tenant", "acme", "--yes"),
            )
            seconds = time.monotonic() - began
            yield Figure("local: a tenant is moved back", seconds, "at most", 300, "s")
            left = stack.count_differences("acme")
        yield Figure("local: writes a second", stack.rate, "at least", MIN_RATE)
        yield Figure("local: items of it that differ from the moment", left, "at most", 0)
        yield from verify(stack, "after the tenant is moved back")
        with stack.loading("acme", "globex"):
            stack.follow("replace-a-lost-table", 0, 1)
            time.sleep(LOAD_S / 4)
        stack.lose_table()
        began = time.monotonic()
        stack.follow("replace-a-lost-table", 1, None)
        seconds = time.monotonic() - began
        yield Figure("local: a lost table is replaced", seconds, "at most", 900, "s")
        yield from verify(stack, "after the lost table is replaced")
        renamed = float(stack.table == "daicho-restored")
        yield Figure("local: the stage has the restored table", renamed, "at least", 1)


def verify(stack: LocalStack, when: str) -> Iterator[Figure]:
    """What a verification finds."""
    shown = json.loads(stack.daicho("verify", "--json", statuses=(0, 1)))
    counts = shown["counts"]
    wrong = counts.get("damage", 0) + counts.get("undecided", 0)
    detail = f"{counts.get('items', 0):,.0f} items"
    yield Figure(f"local: damage {when}", wrong, "at most", 0, "", detail)


@dataclass
class LocalStack:
    """A running stack. ``lines``: the commands of pages, from which variables are kept."""

    root: Path
    environment: dict[str, str]
    written: int = 0
    seconds: float = 0.0
    failures: list[BaseException] = field(default_factory=list)

    @property
    def described(self) -> dict[str, Any]:
        """The stack file."""
        content: dict[str, Any] = json.loads((self.root / ".local/stack.json").read_text("utf-8"))
        return content

    @property
    def table(self) -> str:
        """The table of the stack."""
        return str(self.described["table"])

    @property
    def rate(self) -> float:
        """Writes a second of all load so far."""
        return self.written / self.seconds

    def now(self) -> str:
        """The time of now, for an option."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    def daicho(self, *options: str, statuses: tuple[int, ...] = (0,)) -> str:
        """Call a command; returns what it prints."""
        return self.run(".venv/bin/daicho " + " ".join(options), statuses)

    def run(self, lines: str, statuses: tuple[int, ...] = (0,)) -> str:
        """Run lines of a shell.

        Raises:
            RuntimeError: it ends with another status.
        """
        done = subprocess.run(  # noqa: S603  # our own commands
            ["bash", "-euc", lines],  # noqa: S607
            cwd=self.root,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in statuses:
            raise RuntimeError(f"{lines}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def follow(self, page: str, begin: int, end: int | None) -> None:
        """Follow the commands of a page for a local stack, from one up to another."""
        commands = [each.line for each in HowToPage.read(page).commands if each.need == "stack"]
        if not commands[begin:end]:
            raise RuntimeError(f"{page} has no commands for a local stack")
        self.run("\n".join(commands[begin:end]))

    @contextmanager
    def loading(self, *tenants: str) -> Iterator[None]:
        """Write items of some tenants at a rate until the end of the block."""
        end, pace = threading.Event(), RateLimiter(RATE)
        place = {"endpoint": self.described["endpoint"], "region": REGION}
        table = Connection(self.table, **place).open(WRITERS)
        ledger, began, count = load_ledger(), time.monotonic(), [0] * WRITERS

        def write(number: int) -> None:
            choices = Random(number)  # noqa: S311
            while not end.is_set():
                pace.wait(1.0)
                book = Book(table, ledger, choices.choice(tenants))
                try:
                    change(book, choices)
                except Refusal:
                    continue
                count[number] += 1

        threads = [threading.Thread(target=self._keep(write), args=(n,)) for n in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            end.set()
            for thread in threads:
                thread.join()
        self.written += sum(count)
        self.seconds += time.monotonic() - began
        if self.failures:
            raise self.failures[0]

    def _keep(self, work: Callable[[int], None]) -> Callable[[int], None]:
        def run(number: int) -> None:
            try:
                work(number)
            except Exception as error:  # raised by the thread that waits
                self.failures.append(error)

        return run

    def count_differences(self, tenant: str) -> int:
        """What another restore to the same moment would change."""
        options = ("--from-table", "daicho-copied", "--to", self.now(), "--tenant", tenant)
        shown = json.loads(self.daicho("restore", *options, "--json"))
        return int(shown["total"] + shown["skips"])

    def lose_table(self) -> None:
        """Delete the table: its stream is gone, and requests fail."""
        client = boto3.client(
            "dynamodb",
            endpoint_url=self.described["endpoint"],
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106  # the local AWS
        )
        client.delete_table(TableName=self.table)


def change(book: Book, choices: Random) -> None:
    """Create, change or delete a contact."""
    id = f"load-{choices.randrange(CONTACTS)}"
    if choices.random() < 0.2:
        book.delete(Contact.key(id))
    else:
        book.put(Contact(id=id, name=f"Ada {choices.randrange(1_000)}", phone=""))


@contextmanager
def running(root: Path) -> Iterator[LocalStack]:
    """A stack of the project of this repository, with a folder and a port of its own."""
    for path in ROOT.iterdir():
        if path.name not in NOT_COPIED:
            (root / path.name).symlink_to(path)
    (root / ".local").mkdir()
    for path in (ROOT / ".local").iterdir():
        if path.name not in OWN:
            (root / ".local" / path.name).symlink_to(path)
    stack = LocalStack(root, {"PORT": str(free_port()), "SFN_WAIT_SCALE": "0.25"})
    try:
        stack.daicho("local", "up", "--no-sample")
        yield stack
    finally:
        stack.daicho("local", "down")
