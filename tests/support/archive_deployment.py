"""The archive over Dynoxide and a versioned bucket in memory, with an entity that expires."""

from __future__ import annotations

import datetime as dt
from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Domain, Entity, Expires, Key, Listing, Search
from daicho.archive.reader import ArchiveReader, DayRange, Selection
from daicho.archive.restorer import Restorer, RestoreReport
from daicho.archive.verifier import Verifier, VerifyReport
from daicho.book.book import Book
from daicho.declare.fields import field as declared
from daicho.declare.fields import uid
from daicho.declare.registry import Daicho
from daicho.handlers import archive, project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import Ledger
from daicho.storage.bucket import Bucket
from daicho.storage.table import Table
from daicho_cli.local.ttl_process import delete_expired
from tests.support.stream_pump import Consumer, Context, Pump, environment

BUCKET = "archive"


class Entry(Entity):
    id: str = uid()
    text: str = declared()
    kind: str = declared()

    key = Key(id)
    search = Search(text)
    newest = Listing()
    living = Aggregate(Count(), kind, on_expiry="subtract")
    ever = Aggregate(Count(), kind, ranked=True, on_expiry="keep")
    expires = Expires(dt.timedelta(days=7), archive=True)


LEDGER = Daicho(Domain("test", Entry)).append_generations(Ledger())


class Deployed:
    """Both consumers over one table and one bucket."""

    def __init__(self, dynamo: str, dynamodb: DynamoDBClient, name: str, objects: Any) -> None:
        self.now = dt.datetime.now(dt.UTC)
        self.dynamodb, self.name = dynamodb, name
        self.table, self.bucket = Table(dynamodb, name), Bucket(objects, BUCKET)
        environ = environment(name, STAGE="local", EMULATED_STREAM="true", ARCHIVE_BUCKET=BUCKET)
        dependencies = Dependencies(
            table=lambda *_, **__: self.table,
            bucket=lambda *_, **__: self.bucket,
            now=lambda: self.now,
            parallelism=1,
        )
        handlers = [made.build(environ, LEDGER, dependencies) for made in (project, archive)]
        self.pump = Pump(
            dynamodb, dynamo, name, [Consumer(each, ["Entry"]) for each in handlers], 7
        )
        self.rollup = rollup.build(environ, LEDGER, dependencies)

    def book(self, tenant: str = "one") -> Book:
        return Book(self.table, LEDGER, tenant, clock=lambda: self.now)

    def settle(self) -> None:
        """Everything that is in the stream is handled and rolled up."""
        self.pump.run()
        self.rollup({}, Context())

    def expire(self) -> None:
        """DynamoDB's TTL process comes by."""
        delete_expired(self.dynamodb, self.name, self.now.timestamp())
        self.settle()

    def texts(self, tenant: str = "one") -> list[str]:
        return [each.text for each in self.book(tenant).page(Entry.newest()).items]

    def counts(self, kind: str, tenant: str = "one", *, live: bool = True) -> tuple[Any, Any]:
        book = self.book(tenant)
        asked = (Entry.living(kind), Entry.ever(kind))
        return tuple(book.read(each, live=live).total for each in asked)

    @property
    def archive(self) -> ArchiveReader:
        return ArchiveReader(self.bucket)

    def verify(self) -> VerifyReport:
        today = dt.datetime.now(dt.UTC).date()
        days = DayRange(today - dt.timedelta(days=1), self.now.date())
        return Verifier(self.table, self.archive).verify(days, ["Entry"])

    def restore(self, *, dry_run: bool = False, **asked: Any) -> RestoreReport:
        restorer = Restorer(self.table, self.archive, LEDGER, now=lambda: self.now)
        return restorer.restore(Selection(**asked), dry_run=dry_run)


def write(deployed: Deployed) -> None:
    """Ten entries of two tenants; one is deleted by its owner."""
    for tenant, count in (("one", 6), ("two", 4)):
        for number in range(count):
            kind = "ab"[number % 2]
            deployed.book(tenant).create(Entry(id=str(number), text=f"note {number}", kind=kind))
            deployed.now += dt.timedelta(seconds=1)
    deployed.settle()
    deployed.book("one").delete(Entry.key("5"))
    deployed.settle()
