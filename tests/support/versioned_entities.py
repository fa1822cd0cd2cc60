"""Entities whose versions are kept, both ways, and Books over them at a time that tests move."""

from __future__ import annotations

from typing import Any

from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.httpsession import URLLib3Session
from mypy_boto3_dynamodb import DynamoDBClient

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Search, Versioned, field, uid
from daicho.book.book import Book
from daicho.declare.queries import ListQuery
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.support.table_books import TableBooks


class Memo(Entity):
    """By copy."""

    id: str = uid()
    text: str = field()
    tags: list[str] = field(factory=list)
    origin: str | None = field(default=None, frozen=True)

    key = Key(id)
    search = Search(text)
    count = Aggregate(Count())
    versions = Versioned("copy")


class Guide(Entity):
    """By pointer."""

    id: str = uid()
    text: str = field()
    tags: list[str] = field(factory=list)
    origin: str | None = field(default=None, frozen=True)

    key = Key(id, partition=0)
    newest = Listing()
    versions = Versioned("pointer")


LEDGER = Daicho(Domain("test", Memo, Guide)).append_generations(Ledger())
BOTH: tuple[Any, ...] = (Memo, Guide)


class Kept(TableBooks):
    """Books over these entities."""

    ledger = LEDGER

    def stands(self) -> dict[tuple[str, str], Any]:
        """Everything in the table."""
        return {(item["PK"]["S"], item["SK"]["S"]): item for item in self.everything()}


def numbers(book: Book, many: ListQuery[Any], limit: int = 100) -> list[int]:
    """The numbers of all versions as they are listed, page by page."""
    found: list[int] = []
    cursor: str | None = None
    while True:
        page = book.page(many, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        found += [each.version for each in page.items]
        cursor = page.cursor
        if cursor is None:
            return found


class Losing:
    """The answers of the next transactions are lost on their way, so that the SDK repeats them."""

    def __init__(self, endpoint: str) -> None:
        import boto3  # noqa: PLC0415

        config = Config(retries={"mode": "standard", "total_max_attempts": 3})
        self.client: DynamoDBClient = boto3.client(
            "dynamodb", endpoint_url=endpoint, region_name="us-east-1", config=config
        )
        self.lost = 0
        self._session = URLLib3Session()
        events: Any = self.client.meta.events
        events.register("before-send.dynamodb.TransactWriteItems", self._send)

    def _send(self, request: Any, **_: Any) -> AWSResponse | None:
        if not self.lost:
            return None
        self.lost -= 1
        assert self._session.send(request).status_code == 200
        none: Any = {}
        return AWSResponse(request.url, 500, none, _Nothing())


class _Nothing:
    def stream(self, **_: Any) -> Any:
        yield b"{}"
