"""A shop with every kind of what is verified, in memory, and a verification of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from daicho import (
    Aggregate,
    Count,
    Domain,
    Edge,
    Entity,
    Expires,
    Key,
    Listing,
    Max,
    Search,
    Split,
    Sum,
    Unique,
    Versioned,
    ref,
    uid,
)
from daicho import field as declared
from daicho.archive.reader import ArchiveReader
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.recovery.recovery import RecoveryWorker, request_recovery
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.bucket import Bucket
from daicho.storage.requests import Scan
from daicho.testing import MemoryDeployment
from daicho.testing.memory_deployment import DeliveryError
from daicho.testing.stack_settings import ARCHIVE_BUCKET, FAILURE_BUCKET
from daicho.verify.findings import Finding, FindingStore
from daicho.verify.job import VerifyJob, find_verification, request_verification
from tests.support.mortal_stores import Killed, Turns, let_end

STEP_S = 300.0


class Customer(Entity):
    id: str = uid()
    name: str = declared(default="")
    email: str | None = declared(default=None)

    key = Key(id)
    search = Search(name)
    email_is_unique = Unique(email)


class Sale(Entity):
    id: str = uid()
    customer: str = ref(Customer)
    state: str = declared(default="open")
    amount: int = declared(default=1)

    key = Key(id)
    of_customer = Listing(customer, order=amount, copies=(state,))
    of_state = Listing(state)
    by_state = Aggregate((Sum(amount), Max(amount)), state)
    most = Aggregate(Count(), customer, ranked=True)


class Likes(Entity):
    customer: str = ref(Customer)
    sale: str = ref(Sale)
    note: str = ""

    key = Edge(customer, sale)


class Document(Entity):
    id: str = uid()
    sections: dict[str, str] = declared(factory=dict)

    key = Key(id)
    split = Split(sections)


class Memo(Entity):
    id: str = uid()
    text: str = declared(default="")

    key = Key(id)
    newest = Listing()
    versions = Versioned("copy")


class Visit(Entity):
    id: str = uid()

    key = Key(id)
    newest = Listing()
    expires = Expires(dt.timedelta(days=1), archive=True)


class Trip(Entity):
    """Counted for ever. `VerifiedShop.fill` creates none."""

    id: str = uid()
    place: str = declared(default="sea")

    key = Key(id)
    ever = Aggregate(Count(), place, on_expiry="keep")
    expires = Expires(dt.timedelta(days=1), archive=True)


LEDGER = Daicho(
    Domain("shop", Customer, Sale, Likes, Document, Memo, Visit, Trip)
).append_generations(Ledger())


@dataclass
class VerifiedShop:
    """A shop in memory. ``between``: called whenever a verification waits.

    ``has_claims``: a test has set records aside.
    """

    deployment: MemoryDeployment = field(default_factory=lambda: MemoryDeployment(LEDGER))
    between: Callable[[], object] = lambda: None
    has_claims: bool = False

    @property
    def book(self) -> Book:
        """A Book of the tenant ``acme``."""
        return self.deployment.open_book("acme")

    @property
    def table(self) -> Any:
        return self.deployment.table

    def open_bucket(self, name: str) -> Bucket:
        """A bucket of the deployment."""
        return self.deployment._open_bucket(name)

    def fill(self, count: int = 6) -> None:
        """Some items of each entity, delivered."""
        book = self.book
        for number in range(count):
            book.create(
                Customer(id=f"c{number}", name=f"name {number}", email=f"{number}@example.com")
            )
            book.create(Sale(id=f"s{number}", customer=f"c{number % 2}", amount=number + 1))
            book.create(Likes(customer=f"c{number}", sale=f"s{number}"))
            book.create(Memo(id=f"m{number}", text=f"text {number}"))
            book.create(Document(id=f"d{number}", sections={"a": "one", "b": "two"}))
            book.create(Visit(id=f"v{number}"))
        self.deployment.catch_up()

    def list_items(self, *owned: str) -> list[Image]:
        """The items of the tenant whose keys have one of these second parts, in order of key."""
        items: list[Image] = []
        start: Image | None = None
        while True:
            page = self.table.scan(Scan(start=start, consistent=True))
            items += page.items
            start = page.last
            if start is None:
                break
        wanted = [each for each in items if keys.parse(each["PK"]["S"])[1] in owned]
        return sorted(wanted, key=get_key)

    def find_rows(self, entity: str, id: str) -> dict[str, Image]:
        """The rows of an item, by their sort keys."""
        items = self.list_items(f"~{entity}")
        return {item["SK"]["S"]: item for item in items if keys.parse(item["PK"]["S"])[2] == id}

    def change(self, key: ItemKey, **values: Any) -> None:
        """Set attributes of an item by hand; None removes one."""
        image = {**self.table.get(key, consistent=True)}
        for name, value in values.items():
            if value is None:
                image.pop(name, None)
            else:
                image[name] = value
        self.table.put(image, condition="attribute_exists(PK)", values={})

    # --- The verification ---------------------------------------------------------------------

    def verify(self, **options: Any) -> VerifyJob:
        """Run a verification to its end."""
        job = self.request(**options)
        for _ in range(200):
            if self.step(job).done:
                break
        found = find_verification(self.table)
        assert found is not None
        assert found.state == "succeeded", found.reason
        return found

    def recover(self) -> VerifyJob:
        """Run a recovery to its end, whatever it is."""
        asked = VerifyJob("", keys.render_instant(self.deployment.clock.now()))
        job = request_recovery(self.table, asked, LEDGER)
        for _ in range(50):
            step = self.step(job)
            if step.wait:
                self.deployment.clock.advance(step.wait)
                self.deployment.roll_up()  # as each minute
            if step.done:
                break
        found = find_verification(self.table)
        assert found is not None
        return found

    def request(self, **options: Any) -> VerifyJob:
        """Request a verification."""
        now = keys.render_instant(self.deployment.clock.now())
        return request_verification(self.table, VerifyJob("", now, **options), LEDGER)

    def step(self, job: VerifyJob, seconds: float = STEP_S) -> Any:
        """One step."""
        return self._build_worker().run_step(job.machine_input["job"], self._make_budget(seconds))

    def kill_step(self, job: VerifyJob, after: int) -> bool:
        """A step whose process ends after so many saves or objects; False if it did not."""
        worker, turns = self._build_worker(), Turns(after + 1)
        worker = replace(
            worker,
            store=let_end(worker.store, turns, "put_item"),
            failures=let_end(worker.failures, turns, "put_object"),
        )
        try:
            worker.run_step(job.machine_input["job"], self._make_budget(STEP_S))
        except Killed:
            return True
        return False

    def list_findings(self, job: VerifyJob) -> list[Finding]:
        """All findings of a run, in order."""
        store = FindingStore(self.open_bucket(FAILURE_BUCKET), job.id)
        return sorted(store.read(), key=lambda each: (each.kind, each.key))

    def list_kinds(self, job: VerifyJob) -> list[tuple[str, str]]:
        """The kind and the sort key of each finding."""
        return [(str(each.kind), each.key.sk) for each in self.list_findings(job)]

    def _make_budget(self, seconds: float) -> RetryBudget:
        clock = self.deployment.clock
        until = clock.now() + dt.timedelta(seconds=seconds)

        def remaining() -> float:
            return (until - clock.now()).total_seconds()

        return RetryBudget(remaining, 0.0, self._wait, lambda: 0.5)

    def _build_worker(self) -> RecoveryWorker:
        deployment = self.deployment
        archive = ArchiveReader(self.open_bucket(ARCHIVE_BUCKET))
        return RecoveryWorker(
            store=deployment.table.with_metering(),
            now=deployment.clock.now,
            settle=60,
            segments=4,
            parallelism=1,
            stream=deployment._describe_stream(),
            failures=self.open_bucket(FAILURE_BUCKET),
            ledger=LEDGER,
            archive=archive,
        )

    def _wait(self, seconds: float) -> None:
        self.between()
        self.deployment.clock.advance(max(0.001, seconds))
        try:
            self.deployment.deliver()
        except DeliveryError as error:  # everything is delivered, but a claim is open
            if not self.has_claims:
                raise AssertionError("a claim that the test did not make") from error
