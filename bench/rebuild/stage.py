"""The stage of the trials: a table of Dynoxide, its ledgers, and the questions that it answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench.rebuild.declarations import ENTITIES, TENANT, declare_after, declare_before
from bench.rebuild.items import Fields
from bench.rebuild.truth import Answer, Question, read_fields
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.plan import Ledger
from daicho.release.states import build_record_update
from daicho.storage.protocols import DescribesStream, StreamShard, apply_update
from daicho.storage.table import Table
from tests.support.dynoxide import client
from tests.support.stream_pump import SHARD

KEYS = ("fan", "artist", "id", "country", "status", "amount", "name", "email", "size")
MAX_PAGE = 100


@dataclass(frozen=True)
class Stage(DescribesStream):
    """A table. Each process makes its own of the same names."""

    endpoint: str
    table_name: str

    def __post_init__(self) -> None:
        os.environ["AWS_ENDPOINT_URL"] = self.endpoint

    def __reduce__(self) -> tuple[type[Stage], tuple[str, str]]:
        """As another process gets it: without its client."""
        return Stage, (self.endpoint, self.table_name)

    @cached_property
    def before(self) -> Daicho:
        """The declarations before the change."""
        return declare_before()

    @cached_property
    def after(self) -> Daicho:
        """The declarations after the change."""
        return declare_after()

    @cached_property
    def first_ledger(self) -> Ledger:
        """The lock file before the change."""
        return self.before.check_locked(self.before.append_generations(Ledger()))

    @cached_property
    def ledger(self) -> Ledger:
        """The lock file after the change, of the new code."""
        return self.after.check_locked(self.after.append_generations(self.first_ledger))

    @cached_property
    def old_ledger(self) -> Ledger:
        """The lock file after the change, of the old code."""
        return self.before.check_locked(self.ledger)

    @cached_property
    def dynamodb(self) -> Any:
        """A client of this process."""
        return client(self.endpoint)

    @cached_property
    def table(self) -> Table:
        """The table."""
        return Table(self.dynamodb, self.table_name)

    def release(self, newest: int) -> None:
        """Record that code may write a generation, as a release does."""
        self.table.batch_write(
            BackfillState(entity, 1, newest, in_filter=True).to_item() for entity in ENTITIES
        )
        apply_update(self.table, build_record_update("arn", frozenset(ENTITIES)))

    def list_incomplete(self) -> list[str]:
        """The entities whose readers have not switched to the new generation."""
        images = {entity: self.table.get(build_backfill_key(entity)) for entity in ENTITIES}
        return [
            entity
            for entity, image in images.items()
            if image is None or BackfillState.parse(entity, image).oldest < 2
        ]

    def list_shards(self) -> tuple[StreamShard, ...]:
        """The one shard of a stream of Dynoxide, as its events name it."""
        return (StreamShard(SHARD),)

    def scan_items(self) -> Iterator[tuple[str, Fields]]:
        """All base items of the entities, read by plain requests."""
        names = {f"#{name}": name for name in (*KEYS, "type")}
        request = {
            "TableName": self.table_name,
            "ConsistentRead": True,
            "FilterExpression": "attribute_exists(#type) AND begins_with(PK, :tenant)",
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": {":tenant": {"S": f"{TENANT}#"}},
        }
        for page in self.dynamodb.get_paginator("scan").paginate(**request):
            for image in page["Items"]:
                fields = read_fields(image)
                yield fields["type"], fields

    def count_rows(self, instance: str) -> int:
        """The derived rows of an instance, ``by_status#1``, tombstones left out."""
        request = {
            "TableName": self.table_name,
            "ConsistentRead": True,
            "Select": "COUNT",
            "FilterExpression": "begins_with(SK, :instance) AND attribute_exists(GSI2PK)",
            "ExpressionAttributeValues": {":instance": {"S": f"{instance}#"}},
        }
        pages = self.dynamodb.get_paginator("scan").paginate(**request)
        return sum(page["Count"] for page in pages)


@dataclass(frozen=True)
class Asker:
    """Asks the questions of the new API."""

    daicho: Daicho
    book: Book

    def ask(self, question: Question, *, live: bool) -> Answer:
        """The answer to a question. ``live``: of totals, also what no rollup has added.

        Raises:
            BeingBuilt: nothing can answer it yet: the API's 503.
        """
        declaration, group = question
        entity, _, name = declaration.partition(".")
        query = getattr(self.daicho.get_entity(entity), name)(group)
        if name == "search":
            return frozenset(self._list_ids(query))
        score = self.book.read(query, live=live)
        return int(score.total), score.items

    def _list_ids(self, query: Any) -> Iterator[str]:
        cursor: str | None = None
        while True:
            page = self.book.page(query, limit=MAX_PAGE, cursor=cursor)
            yield from (item.id for item in page.items)
            if (cursor := page.cursor) is None:
                return
