"""The table: the only module of the library that talks to DynamoDB.

Items go in and out as images (DynamoDB's own attribute values): what a stream record shows and
what a query answers have one shape, and no number is rounded on the way.

The SDK repeats a request whose answer was lost. A put or delete may be repeated; an ``ADD`` may
not, so every update here that adds carries a condition that its own first success makes false.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import boto3
from botocore.config import Config

from daicho.errors import UnprocessedError
from daicho.runtime.retry import Patience
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.botocore_errors import translated
from daicho.storage.capacity import Metered, Units
from daicho.storage.item_key import ItemKey, key_of
from daicho.storage.requests import (
    NOTHING,
    Page,
    Query,
    Scan,
    Write,
    expressions,
    key_image,
    projection,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

GET_AT_ONCE = 100
WRITE_AT_ONCE = 25
BATCH_SECONDS = 2.0
Returns = Literal["ALL_OLD", "ALL_NEW"]
T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """What a batch get found, and the keys that DynamoDB had not got round to in time."""

    items: Mapping[ItemKey, Image]
    unprocessed: tuple[ItemKey, ...] = ()

    def whole(self) -> Mapping[ItemKey, Image]:
        """The items, if nothing was left unprocessed; a key that is absent here does not exist.

        Raises:
            UnprocessedError: something was.
        """
        if self.unprocessed:
            raise UnprocessedError(self.unprocessed)
        return self.items


class Table:
    """One DynamoDB table. Raises `daicho.errors.StoreError`s only; safe to share by threads."""

    def __init__(self, client: DynamoDBClient, name: str, units: Units | None = None) -> None:
        self._client = client
        self.name = name
        self.units = units or Units()

    def get(self, key: ItemKey, *, consistent: bool = False) -> Image | None:
        """Read one item."""
        with translated(f"get {key}"):
            answer = self._client.get_item(
                TableName=self.name, Key=key_image(key), ConsistentRead=consistent
            )
        return answer.get("Item")

    def get_attributes(self, key: ItemKey, names: Sequence[str]) -> Image | None:
        """Read some attributes of one item, consistently: less comes, as many units are read."""
        with translated(f"get {key}"):
            answer = self._client.get_item(
                TableName=self.name, Key=key_image(key), ConsistentRead=True, **projection(names)
            )
        return answer.get("Item")

    def batch_get(
        self,
        keys: Iterable[ItemKey],
        *,
        consistent: bool = False,
        patience: Patience | None = None,
    ) -> Found:
        """Read many items, 100 a request; what DynamoDB leaves is asked for again for 2 s."""
        patience = patience or Patience.seconds(BATCH_SECONDS)
        found: dict[ItemKey, Image] = {}
        left = list(dict.fromkeys(keys))
        for _ in patience.attempts():
            still: list[ItemKey] = []
            for some in _chunks(left, GET_AT_ONCE):
                items, unprocessed = self._get_some(some, consistent)
                found.update((key_of(item), item) for item in items)
                still += unprocessed
            left = still
            if not left:
                break
        return Found(found, tuple(left))

    def query(self, query: Query) -> Page:
        """Read one page."""
        with translated(f"query {query.index or 'table'} {query.partition}"):
            answer = self._client.query(TableName=self.name, **query.request())
        return Page.of(answer)

    def pages(self, query: Query) -> Iterator[Page]:
        """Read page after page to the end, each when it is asked for."""
        page = self.query(query)
        yield page
        while page.last is not None:
            page = self.query(replace(query, start=page.last))
            yield page

    def scan(self, scan: Scan) -> Page:
        """Read one page of a segment of the whole table."""
        with translated(f"scan segment {scan.segment} of {scan.segments}"):
            answer = self._client.scan(TableName=self.name, **scan.request())
        return Page.of(answer)

    def put(
        self,
        item: Image,
        *,
        condition: str | None = None,
        names: Mapping[str, str] = NOTHING,
        values: Mapping[str, AttributeValue] = NOTHING,
        returns: Literal["ALL_OLD"] | None = None,
    ) -> Image | None:
        """Write a whole item; gives the one before it if ``returns`` asks.

        Raises:
            ConditionFailedError: with the item that stands there.
        """
        request = expressions(condition, names, values) | _returning(returns)
        with translated(f"put {key_of(item)}"):
            answer = self._client.put_item(TableName=self.name, Item=item, **request)
        return answer.get("Attributes")

    def update(
        self,
        key: ItemKey,
        update: str,
        *,
        condition: str | None = None,
        names: Mapping[str, str] = NOTHING,
        values: Mapping[str, AttributeValue] = NOTHING,
        returns: Returns | None = None,
    ) -> Image | None:
        """Change an item, or create it where the condition allows.

        Raises:
            ConditionFailedError: with the item that stands there.
        """
        request = expressions(condition, names, values) | _returning(returns)
        with translated(f"update {key}"):
            answer = self._client.update_item(
                TableName=self.name, Key=key_image(key), UpdateExpression=update, **request
            )
        return answer.get("Attributes")

    def delete(
        self,
        key: ItemKey,
        *,
        condition: str | None = None,
        names: Mapping[str, str] = NOTHING,
        values: Mapping[str, AttributeValue] = NOTHING,
    ) -> Image | None:
        """Remove an item and give it; None if nothing stood there.

        Raises:
            ConditionFailedError: with the item that stands there.
        """
        request = expressions(condition, names, values) | _returning("ALL_OLD")
        with translated(f"delete {key}"):
            answer = self._client.delete_item(TableName=self.name, Key=key_image(key), **request)
        return answer.get("Attributes")

    def transact(self, writes: Sequence[Write]) -> None:
        """Do all writes or none; at most 100, each of another item, at two units each.

        The SDK repeats it under one token, so that a repeat after a lost response is known.

        Raises:
            TransactionFailedError: a condition did not hold.
            ContendedError: another write was at one of the items.
            UnansweredError: it is not known whether it was done.
        """
        items: list[Any] = [
            {type(write).__name__: {"TableName": self.name, **write.request()}} for write in writes
        ]
        with translated(f"transaction of {len(writes)}"):
            self._client.transact_write_items(TransactItems=items)

    def metered(self) -> Table:
        """The same table, whose ``units`` count what its requests take."""
        units = Units()
        client: Any = Metered(self._client, units)
        return Table(client, self.name, units)

    def batch_write(
        self,
        puts: Iterable[Image] = (),
        deletes: Iterable[ItemKey] = (),
        *,
        patience: Patience | None = None,
    ) -> None:
        """Write and remove many items without conditions, 25 a request.

        What DynamoDB leaves is sent again for 2 s. A key given twice counts once: the last put,
        or the delete.

        Raises:
            UnprocessedError: names the keys that are still left then.
        """
        patience = patience or Patience.seconds(BATCH_SECONDS)
        left: dict[ItemKey, dict[str, Any]] = {
            key_of(item): {"PutRequest": {"Item": item}} for item in puts
        }
        left.update({key: {"DeleteRequest": {"Key": key_image(key)}} for key in deletes})
        for _ in patience.attempts():
            still = [self._write_some(some) for some in _chunks(left.values(), WRITE_AT_ONCE)]
            left = {_key_of_request(each): each for some in still for each in some}
            if not left:
                return
        raise UnprocessedError(list(left))

    def _get_some(self, keys: list[ItemKey], consistent: bool) -> tuple[list[Image], list[ItemKey]]:
        asked = {"Keys": [key_image(key) for key in keys], "ConsistentRead": consistent}
        with translated(f"batch get of {len(keys)}"):
            answer: Any = self._client.batch_get_item(RequestItems={self.name: asked})  # type: ignore[dict-item]
        left = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
        return list(answer["Responses"].get(self.name, ())), [key_of(each) for each in left]

    def _write_some(self, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        with translated(f"batch write of {len(requests)}"):
            answer: Any = self._client.batch_write_item(RequestItems={self.name: requests})  # type: ignore[dict-item]
        return list(answer.get("UnprocessedItems", {}).get(self.name, ()))


def open_table(
    name: str,
    *,
    attempts: int = 3,
    timeout: float = 5.0,
    connections: int = 16,
    endpoint: str | None = None,
    region: str | None = None,
) -> Table:
    """A table behind a client whose patience is bounded.

    One call takes at most ``attempts`` × (1 + ``timeout``) seconds, and the SDK's pauses between
    (botocore 1.44 changed the default number of attempts, so it is set here). ``endpoint`` and
    ``region`` are for programs outside Lambda; else the environment says them.
    """
    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=1.0,
        read_timeout=timeout,
        max_pool_connections=connections,
        parameter_validation=False,  # the requests are ours; it costs a third of a call's CPU
    )
    client = boto3.client("dynamodb", config=config, endpoint_url=endpoint, region_name=region)
    return Table(client, name)


def _chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    each = iter(values)
    while some := list(islice(each, size)):
        yield some


def _returning(returns: Returns | None) -> dict[str, Any]:
    return {"ReturnValues": returns} if returns else {}


def _key_of_request(request: Mapping[str, Any]) -> ItemKey:
    if put := request.get("PutRequest"):
        return key_of(put["Item"])
    return key_of(request["DeleteRequest"]["Key"])
