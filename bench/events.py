"""Events under load on the local AWS: ``make bench-events``, on a machine that does nothing else.

Two projects are deployed one after the other, which differ in one thing: whether they publish what
is created. Each gets the same writes for the same time, and a probe measures how late a list shows
an item. The bus of the second one fails for a third of the requests, half of them after it has
taken their events. Exit code 1: an event is lost, or the list is later by more than a tenth.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.speed.figures import Figure, print_figures
from daicho.book.book import Book
from daicho.plan import Ledger
from daicho.project import FUNCTIONS, Project
from daicho_cli.aws import Stack
from daicho_cli.init.command import create_project
from daicho_cli.local import lifecycle
from daicho_cli.local.environment import use_local_aws
from daicho_cli.local.instance import LocalInstance
from tests.support.changing_project import share_programs
from tests.support.dynoxide import free_port

TENANT, WRITERS, FAILED_SHARE, TOLERANCE = "acme", 8, 1 / 3, 0.1
WARM_UP_S = 20
"""Seconds in which the functions start, and no delay counts."""
MAX_DRAIN_S = 300
"""Seconds after the last write in which all events have to come."""
DOMAIN = '''"""Bills, and probes of how late a list is."""

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, created, field


class Bill(Entity):
    """It derives a row and a count."""

    id: str = field()
    payer: str = field()

    key = Key(id)
    of_payer = Listing(payer)
    count = Aggregate(Count(), payer)


domain = Domain("bills", Bill)
domain.resource("/bills/{id}", Bill, "POST GET")
'''
PUBLISHED = 'domain.publish(Bill, when=created, name="created", fields=Bill.payer)\n'
HANDLER = '"""Lambda `{0}`."""\n\nfrom daicho.handlers.{0} import __getattr__  # noqa: F401\n'
FAILING = f'''"""Lambda `publish`, on a bus that fails now and then."""

import os
import random
from dataclasses import replace

from daicho.errors import UnavailableError
from daicho.handlers import publish
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES
from daicho.storage.event_queue import open_event_bus


class FailingBus:
    """A bus that fails before or after it has taken events."""

    def __init__(self, name, dead_letters):
        self._bus = open_event_bus(name, dead_letters)

    def put(self, messages):
        """Put events, or fail."""
        fails, is_late = random.random() < {FAILED_SHARE}, random.random() < 0.5
        if fails and not is_late:
            raise UnavailableError("the bus fails")
        left = self._bus.put(messages)
        if fails:
            raise UnavailableError("the bus does not answer")
        return left

    def take_refused(self):
        """See `EventBus`."""
        return self._bus.take_refused()


handler = publish.build(os.environ, None, replace(AWS_DEPENDENCIES, event_bus=FailingBus))
'''


@dataclass
class Run:
    """The delays of the list in seconds, and the subjects of delivered events, with repeats."""

    delays: list[float] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    delivered: Counter[str] = field(default_factory=Counter)
    drained_s: float = 0.0

    @property
    def delay(self) -> float:
        """The median of the delays."""
        return statistics.median(self.delays)


def make_project(folder: Path, *, publishes: bool) -> Project:
    """A project with one domain file, whose functions are those of the library."""
    create_project("bench", folder)
    (folder / "domains/products.py").unlink()
    (folder / "domains/bills.py").write_text(DOMAIN + PUBLISHED * publishes, "utf-8")
    handlers = folder / "handlers"
    handlers.mkdir()
    (handlers / "__init__.py").touch()
    for name in FUNCTIONS:
        (handlers / f"{name}.py").write_text(HANDLER.format(name), "utf-8")
    (handlers / "publish.py").write_text(FAILING, "utf-8")
    settings = folder / "pyproject.toml"
    named = '[tool.daicho]\nhandlers = "handlers"'
    settings.write_text(settings.read_text("utf-8").replace("[tool.daicho]", named), "utf-8")
    share_programs(folder / ".local")
    (folder / ".venv").symlink_to(sys.prefix)
    project = Project.find(folder)
    project.lock_file.unlink()
    ledger = project.discover().append_generations(Ledger(project=project.name))
    project.lock_file.write_text(json.dumps(ledger.to_json()), "utf-8")
    return project


def play(folder: Path, rate: float, seconds: float, *, publishes: bool) -> Run:
    """Deploy a project to a local AWS of its own, write, and wait for the events."""
    project = make_project(folder, publishes=publishes)
    instance = LocalInstance(folder / ".local", free_port(), project)
    try:
        lifecycle.up(instance, partial(print, flush=True), with_sample=False)
        stack = Stack.find(None, instance.stack_file)
        run, ended = Run(), threading.Event()
        receiving = open_subscription(stack) if publishes else None
        with ThreadPoolExecutor(WRITERS + 1) as pool:
            probing = pool.submit(probe, stack, project, run, ended)
            began = time.monotonic()
            writing = [
                pool.submit(write, stack, project, run, began, n, rate, seconds)
                for n in range(WRITERS)
            ]
            for each in writing:
                each.result()
            ended.set()
            probing.result()
        what = "with" if publishes else "without"
        sys.stderr.write(f"delay of the list {what} events: {run.delay:.2f} s\n")
        if receiving:
            drain(stack, receiving, run)
        return run
    finally:
        lifecycle.reset(instance, partial(print, flush=True))


def write(
    stack: Stack, project: Project, run: Run, began: float, writer: int, rate: float, seconds: float
) -> None:
    """Write the share of one writer, each item at its time."""
    book, entity = open_book(stack, project)
    for number in range(writer, int(rate * seconds), WRITERS):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        book.put(entity(id=f"b{number}", payer=f"p{number % 50}"))
        run.written.add(f"b{number}")


def probe(stack: Stack, project: Project, run: Run, ended: threading.Event) -> None:
    """Write an item now and then, and measure how long no list shows it."""
    book, entity = open_book(stack, project)
    number, first = 0, time.monotonic()
    while not ended.is_set():
        number += 1
        id, began = f"probe{number}", time.monotonic()
        book.put(entity(id=id, payer=id))
        run.written.add(id)
        while not list(book.page(entity.of_payer(id)).items):
            time.sleep(0.02)
        if began - first > WARM_UP_S:
            run.delays.append(time.monotonic() - began)
        time.sleep(0.2)


def open_book(stack: Stack, project: Project) -> tuple[Book, Any]:
    """A book of the table, and the entity."""
    table = stack.connection.open(1)
    return Book(table, project.load_ledger(), TENANT), project.discover().get_entity("Bill")


def open_subscription(stack: Stack) -> str:
    """A queue that gets all events of the bus; its URL."""
    sqs, bus = stack.open_client("sqs"), stack["EventBusName"]
    url: str = sqs.create_queue(QueueName="bench-events")["QueueUrl"]
    names = ["QueueArn"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]["QueueArn"]
    events = stack.open_client("events")
    pattern = json.dumps({"source": [{"prefix": "/"}]})
    events.put_rule(Name="bench", EventBusName=bus, EventPattern=pattern)
    events.put_targets(Rule="bench", EventBusName=bus, Targets=[{"Id": "1", "Arn": arn}])
    return url


def drain(stack: Stack, url: str, run: Run) -> None:
    """Receive events until each has come, or for `MAX_DRAIN_S`."""
    began, missing = time.monotonic(), set(run.written)
    while missing and time.monotonic() - began < MAX_DRAIN_S:
        for subject in receive(stack, url):
            run.delivered[subject] += 1
            missing.discard(subject)
    run.drained_s = time.monotonic() - began


def receive(stack: Stack, url: str) -> Iterator[str]:
    """The subjects of some events."""
    sqs = stack.open_client("sqs")
    answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
    messages = answer.get("Messages", ())
    for message in messages:
        yield json.loads(message["Body"])["detail"]["subject"]
    if messages:
        entries = [
            {"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)
        ]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)


def main() -> int:
    """Run both, and print what they show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200, help="writes a second")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    began = time.monotonic()
    use_local_aws()
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
    with tempfile.TemporaryDirectory() as folder:
        plain = play(Path(folder, "plain"), options.rate, options.seconds, publishes=False)
        with_events = play(Path(folder, "events"), options.rate, options.seconds, publishes=True)
    one, other = plain.delay, with_events.delay
    repeats = with_events.delivered.total() - len(with_events.delivered)
    lost = len(with_events.written - with_events.delivered.keys())
    detail = f"of {len(with_events.written):,}; {repeats:,} repeats"
    drained = f"drained {with_events.drained_s:,.0f} s after the last write"
    delays = f"{other:.2f} s with events, {one:.2f} s without"
    figures = [
        Figure("events that are lost", lost, "at most", 0, "", f"{detail}, {drained}"),
        Figure("delay of the list", other / one, "at most", 1 + TOLERANCE, "times", delays),
    ]
    title = f"{options.rate:g} writes a second, on a bus that fails"
    return print_figures(Console(width=130), title, figures, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
