"""A `VerifiedShop` that is written all the time, also while a page of a scan is read."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from unittest import mock

from daicho.stream.changes import PlannedImage
from daicho.testing.memory_deployment import DeliveryError
from daicho.verify import steps
from daicho.verify.findings import Finding
from daicho.verify.job import VerifyJob
from tests.support.verified_shop import Customer, Likes, Memo, Sale, VerifiedShop

PAGE_ITEMS, SECONDS_PER_PAGE = 250, 0.05
SPLIT_SHARE, MAX_OPEN = 0.1, 4
"""How often a shard is split when something was written, until so many are open."""


@dataclass
class BusyShop(VerifiedShop):
    """A shop with ``rate`` writes a second.

    ``states``: of the sales that are written. ``splits``: whether shards are split meanwhile.
    ``seed``: of what is written. ``writes``: how many there were.
    """

    rate: int = 200
    states: tuple[str, ...] = ("open", "paid")
    splits: bool = False
    seed: int = 0
    writes: int = 0
    _numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.between = self.write
        self._choices = random.Random(self.seed)  # it chooses what is written
        self._written_at = self.deployment.clock.now()

    def write(self) -> None:
        """Write what is due since the last time; perhaps split a shard then."""
        now = self.deployment.clock.now()
        due = int((now - self._written_at).total_seconds() * self.rate)
        if not due:
            return
        self._written_at = now
        for _ in range(due):
            self._write_one(next(self._numbers))
        recorder = self.deployment._dynamodb._recorder
        if self.splits and recorder is not None and self._choices.random() < SPLIT_SHARE:
            shards = recorder.open_shards
            close = recorder.split if len(shards) < MAX_OPEN else recorder.roll
            close(self._choices.choice(shards))

    def _write_one(self, number: int) -> None:
        """Create items, and change and delete some of them."""
        book, id = self.book, f"w{number}"
        match number % 6:
            case 0:
                book.create(Customer(id=id, name=f"name {number}", email=f"{id}@example.com"))
            case 1:
                book.create(Sale(id=id, customer="c1", state=self._choose(), amount=number))
            case 2:
                book.change(Sale.key(f"w{number - 1}"), {"state": self._choose(), "amount": 5})
            case 3:
                book.delete(Customer.key(f"w{number - 3}"))
            case 4 if number % 12 == 4:
                book.delete(Sale.key(f"w{number - 3}"))
            case 4:
                book.change(Memo.key("m0"), {"text": str(number)})
            case _:
                book.create(Likes(customer="c1", sale=id))
        self.writes += 1

    def _choose(self) -> str:
        return self._choices.choice(self.states)

    def set_aside_and_redrive(self) -> None:
        """Write sales that a fault sets aside, and redrive them once it is removed."""
        with _without_log(), mock.patch.object(PlannedImage, "amounts", property(_fail)):
            for _ in range(4):
                self.book.create(Sale(customer="c0", state=self._choose()))
            try:
                self.deployment.deliver()
            except DeliveryError:
                pass  # all of them are set aside
            else:
                raise AssertionError("nothing was set aside")
        report = self.deployment._invoke("redrive", {"action": "apply"})
        if not report["applied"] or report["still_failing"]:
            raise AssertionError(f"not redriven: {report}")

    def run(self, **options: Any) -> tuple[VerifyJob, list[Finding]]:
        """A verification while writes continue, and its findings."""
        self._written_at = self.deployment.clock.now()
        with mock.patch.object(steps, "ITEMS_PER_PAGE", PAGE_ITEMS):
            job = self.verify(**options)
        return job, self.list_findings(job)

    def _build_worker(self) -> Any:
        worker = super()._build_worker()
        store: Any = copy(worker.store)

        def scan(request: Any) -> Any:
            page = worker.store.scan(request)
            self.deployment.clock.advance(SECONDS_PER_PAGE)
            self.write()
            return page

        store.scan = scan
        return replace(worker, store=store)


@contextmanager
def _without_log() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _fail(_image: PlannedImage) -> Any:
    raise ValueError("a fault of the code")
