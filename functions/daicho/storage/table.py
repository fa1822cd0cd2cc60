"""The table: the only module of the library that talks to DynamoDB.

Items are passed as images (DynamoDB's own attribute values): a stream record and the answer to a
query have one shape, and no number is rounded.

The SDK repeats a request whose answer was lost. A put or delete may be repeated; an ``ADD`` may
not, so every update here that adds carries a condition that its own first success makes false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from daicho.errors import ExceedsBounds, UnprocessedError
from daicho.runtime.bounds import RequestBounds
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import AttributeValue, Image, ItemKey, get_key
from daicho.storage.botocore_errors import AWS_ERRORS, translate_error
from daicho.storage.capacity import (
    INDEX_ROW_BYTES,
    KEY_INDEXES,
    WRITES,
    MeteredClient,
    RequestBudget,
)
from daicho.storage.direct.client import DirectClient
from daicho.storage.requests import (
    NO_NAMES,
    InsertOutcome,
    ItemPage,
    Query,
    Returns,
    Scan,
    Write,
    build_expressions,
    build_insert,
    build_projection,
    read_insert_outcome,
    to_key_image,
)
from daicho.storage.sessions import build_config, get_session, open_client
from daicho.storage.tenant_guard import TenantGuard

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_BATCH_GETS = 100
MAX_BATCH_WRITES = 25
BATCH_RETRY_S = 2.0
T = TypeVar("T")


@dataclass(frozen=True)
class BatchGetResult:
    """The items of a batch get, and the keys that DynamoDB did not process in time."""

    items: Mapping[ItemKey, Image]
    unprocessed: tuple[ItemKey, ...] = ()

    def require_all(self) -> Mapping[ItemKey, Image]:
        """The items, if nothing was left unprocessed; a key that is absent here does not exist.

        Raises:
            UnprocessedError: a key was left unprocessed.
        """
        if self.unprocessed:
            raise UnprocessedError(self.unprocessed)
        return self.items


class Table:
    """One DynamoDB table. Raises `daicho.errors.StoreError`s only; safe to share by threads."""

    def __init__(
        self,
        client: DynamoDBClient,
        name: str,
        budget: RequestBudget | None = None,
    ) -> None:
        self._client = client
        self._unguarded: Any = client
        self._guard: TenantGuard | None = None
        self.name, self.budget = name, budget or RequestBudget()

    def get(
        self, key: ItemKey, *, consistent: bool = False, attributes: Sequence[str] = ()
    ) -> Image | None:
        """Read one item, or some attributes of it: less data, but as many units."""
        projection = build_projection(attributes) if attributes else NO_NAMES
        self.budget.count_items(consistent=consistent)
        try:
            answer = self._client.get_item(
                TableName=self.name,
                Key=to_key_image(key),
                ConsistentRead=consistent,
                **projection,
            )
        except AWS_ERRORS as error:
            raise translate_error(error, f"get {key}") from error
        return answer.get("Item")

    def batch_get(
        self,
        keys: Iterable[ItemKey],
        *,
        consistent: bool = False,
        retry_budget: RetryBudget | None = None,
        is_partial: bool = False,
    ) -> BatchGetResult:
        """Read many items, 100 a request; unprocessed keys are requested again for 2 s.

        ``is_partial``: keys for which the budget has no units left are unprocessed too.

        Raises:
            ExceedsBounds: the budget has no units left, and it is not partial.
        """
        items: dict[ItemKey, Image] = {}
        remaining = tuple(dict.fromkeys(keys))
        if not remaining:
            return BatchGetResult(items)
        retry_budget = retry_budget or RetryBudget.for_seconds(BATCH_RETRY_S)
        for _ in retry_budget.count_attempts():
            unprocessed: tuple[ItemKey, ...] = ()
            while remaining:
                try:
                    rows = self.budget.count_items(consistent=consistent, is_page=is_partial)
                except ExceedsBounds:
                    if not is_partial:
                        raise
                    return BatchGetResult(items, (*unprocessed, *remaining))
                size = min(MAX_BATCH_GETS, rows)
                result = self._get_chunk(remaining[:size], consistent)
                items |= result.items
                unprocessed += result.unprocessed
                remaining = remaining[size:]
            remaining = unprocessed
            if not remaining:
                break
        return BatchGetResult(items, remaining)

    def query(self, query: Query) -> ItemPage:
        """Read one page; a limit is lowered to the rows for which the budget has units left.

        Raises:
            ExceedsBounds: the budget has no units left.
        """
        is_page = query.limit is not None
        row_bytes = self.budget.bounds.item_bytes if is_page else 1
        if query.index in KEY_INDEXES:
            row_bytes = min(row_bytes, INDEX_ROW_BYTES)
        rows = self.budget.count_rows(row_bytes, consistent=query.consistent, is_page=is_page)
        if query.limit is not None and query.limit > rows:
            query = replace(query, limit=rows)
        request = query.to_request()
        try:
            answer = self._client.query(TableName=self.name, **request)
        except AWS_ERRORS as error:
            raise translate_error(
                error, f"query {query.index or 'table'} {query.partition}"
            ) from error
        return ItemPage.from_answer(answer)

    def query_pages(self, query: Query) -> Iterator[ItemPage]:
        """Read page after page to the end, each on demand."""
        page = self.query(query)
        yield page
        while page.last is not None:
            page = self.query(replace(query, start=page.last))
            yield page

    def scan(self, scan: Scan) -> ItemPage:
        """Read one page of a segment of the whole table."""
        request = scan.to_request()
        try:
            answer = self._client.scan(TableName=self.name, **request)
        except AWS_ERRORS as error:
            raise translate_error(
                error, f"scan segment {scan.segment} of {scan.segments}"
            ) from error
        return ItemPage.from_answer(answer)

    def put(
        self,
        item: Image,
        *,
        condition: str | None = None,
        names: Mapping[str, str] = NO_NAMES,
        values: Mapping[str, AttributeValue] = NO_NAMES,
        returns: Literal["ALL_OLD"] | None = None,
    ) -> Image | None:
        """Write a whole item; returns the previous one if ``returns`` is set.

        Raises:
            ConditionFailedError: with the item at the key.
        """
        self.budget.check_write(1)
        request = build_expressions(condition, names, values, returns)
        try:
            answer = self._client.put_item(TableName=self.name, Item=item, **request)
        except AWS_ERRORS as error:
            raise translate_error(error, f"put {get_key(item)}") from error
        return answer.get("Attributes")

    def update(
        self,
        key: ItemKey,
        update: str,
        *,
        condition: str | None = None,
        names: Mapping[str, str] = NO_NAMES,
        values: Mapping[str, AttributeValue] = NO_NAMES,
        returns: Returns | None = None,
    ) -> Image | None:
        """Change an item, or create it where the condition allows.

        Raises:
            ConditionFailedError: with the item at the key.
        """
        self.budget.check_write(1)
        request = build_expressions(condition, names, values, returns)
        try:
            answer = self._client.update_item(
                TableName=self.name, Key=to_key_image(key), UpdateExpression=update, **request
            )
        except AWS_ERRORS as error:
            raise translate_error(error, f"update {key}") from error
        return answer.get("Attributes")

    def delete(
        self,
        key: ItemKey,
        *,
        condition: str | None = None,
        names: Mapping[str, str] = NO_NAMES,
        values: Mapping[str, AttributeValue] = NO_NAMES,
    ) -> Image | None:
        """Remove an item and return it; None if there was none.

        Raises:
            ConditionFailedError: with the item at the key.
        """
        self.budget.check_write(1)
        request = build_expressions(condition, names, values, "ALL_OLD")
        try:
            answer = self._client.delete_item(TableName=self.name, Key=to_key_image(key), **request)
        except AWS_ERRORS as error:
            raise translate_error(error, f"delete {key}") from error
        return answer.get("Attributes")

    def transact(self, writes: Sequence[Write]) -> None:
        """Do all writes or none; at most 100, each of another item, at two units each.

        The SDK repeats it under one token, so that a repeat after a lost response is recognised.

        Raises:
            TransactionFailedError: a condition did not hold.
            ContendedError: another write used one of the items.
            UnansweredError: it is not known whether it was done.
        """
        self.budget.check_write(2 * len(writes))
        items: list[Any] = [
            {type(write).__name__: {"TableName": self.name, **write.to_request()}}
            for write in writes
        ]
        try:
            self._client.transact_write_items(TransactItems=items)
        except AWS_ERRORS as error:
            raise translate_error(error, f"transaction of {len(writes)}") from error

    def insert_batch(self, items: Sequence[Image]) -> list[InsertOutcome]:
        """Insert up to 25 items, each on its own; the outcomes are in the order of the items.

        The SDK's repeat after a lost answer finds items of the first attempt and is ``refused``.

        Raises:
            StoreError: no outcome is known; any of the items may have been inserted.
        """
        statements: Any = [build_insert(self.name, item) for item in items]
        try:
            answer = self._client.batch_execute_statement(Statements=statements)
        except AWS_ERRORS as error:
            raise translate_error(error, f"insert of {len(items)}") from error
        return [read_insert_outcome(response) for response in answer["Responses"]]

    def with_announcement(self, announce: Callable[[], None]) -> Table:
        """The same table; ``announce`` is called before each request that writes."""
        client: Any = _AnnouncingClient(self._client, announce)
        return Table(client, self.name, self.budget)

    def for_tenant(self, tenant: str, shared: frozenset[str]) -> Table:
        """The same table for the requests of one tenant.

        A request raises `daicho.storage.tenant_guard.ForeignPartitionError`, and is not sent, if it
        names a partition that is neither of the tenant nor in ``shared``.
        """
        own = copy(self)
        own._guard = TenantGuard(tenant, shared)
        client: Any = MeteredClient(self._unguarded, self.budget, own._guard)
        own._client = client
        return own

    def with_metering(self) -> Table:
        """The same table, whose ``budget`` counts what its requests take."""
        budget = RequestBudget()
        client: Any = MeteredClient(self._client, budget)
        return Table(client, self.name, budget)

    def with_bounds(self, bounds: RequestBounds) -> Table:
        """The same table for one request of the API, which may not take more than ``bounds``."""
        own, budget = object.__new__(type(self)), RequestBudget(bounds)  # each request needs one
        client = MeteredClient(self._unguarded, budget, self._guard)
        vars(own).update(vars(self), _client=client, budget=budget)
        return own

    def batch_write(
        self,
        puts: Iterable[Image] = (),
        deletes: Iterable[ItemKey] = (),
        *,
        retry_budget: RetryBudget | None = None,
    ) -> None:
        """Write and remove many items without conditions, 25 a request.

        Unprocessed writes are sent again for 2 s. A key given twice counts once: the last put,
        or the delete.

        Raises:
            UnprocessedError: names the keys that are still left then.
        """
        retry_budget = retry_budget or RetryBudget.for_seconds(BATCH_RETRY_S)
        left: dict[ItemKey, dict[str, Any]] = {
            get_key(item): {"PutRequest": {"Item": item}} for item in puts
        }
        left.update({key: {"DeleteRequest": {"Key": to_key_image(key)}} for key in deletes})
        for _ in retry_budget.count_attempts():
            still = [
                self._write_chunk(chunk)
                for chunk in _split_into_chunks(tuple(left.values()), MAX_BATCH_WRITES)
            ]
            left = {_get_request_key(request): request for chunk in still for request in chunk}
            if not left:
                return
        raise UnprocessedError(list(left))

    def _get_chunk(self, keys: Sequence[ItemKey], consistent: bool) -> BatchGetResult:
        request = {"Keys": [to_key_image(key) for key in keys], "ConsistentRead": consistent}
        try:
            answer: Any = self._client.batch_get_item(RequestItems={self.name: request})  # type: ignore[dict-item]
        except AWS_ERRORS as error:
            raise translate_error(error, f"batch get of {len(keys)}") from error
        found = answer["Responses"].get(self.name, ())
        items = {get_key(item): item for item in found}
        unprocessed = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", ())
        return BatchGetResult(items, tuple(map(get_key, unprocessed)))

    def _write_chunk(self, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        self.budget.check_write(len(requests))
        try:
            answer: Any = self._client.batch_write_item(RequestItems={self.name: requests})  # type: ignore[dict-item]
        except AWS_ERRORS as error:
            raise translate_error(error, f"batch write of {len(requests)}") from error
        return list(answer.get("UnprocessedItems", {}).get(self.name, ()))


class _AnnouncingClient:
    """A client of DynamoDB that calls a function before each write."""

    def __init__(self, client: Any, announce: Callable[[], None]) -> None:
        self._client, self._announce = client, announce

    def __getattr__(self, name: str) -> Any:
        if name == "_client":  # a copy is made without `__init__`, and asked for its hooks
            raise AttributeError(name)
        request = getattr(self._client, name)
        if name not in WRITES:
            return request

        def announced(**parameters: Any) -> Any:
            self._announce()
            return request(**parameters)

        return announced


def open_table(
    name: str,
    *,
    attempts: int = 3,
    timeout: float = 5.0,
    connections: int = 16,
    endpoint: str | None = None,
    region: str | None = None,
) -> Table:
    """A table with a client whose attempts and timeouts are bounded.

    One call takes at most ``attempts`` × (1 + ``timeout``) seconds, and the SDK's pauses between.
    ``endpoint`` and ``region`` are for programs outside Lambda; the environment is the default.
    """
    config = build_config(
        attempts,
        timeout,
        max_pool_connections=connections,
        parameter_validation=False,  # the requests are ours; it costs a third of a call's CPU
    )
    client = open_client("dynamodb", config, endpoint=endpoint, region=region)
    if not name.startswith("arn:"):  # botocore chooses an endpoint by the account of an ARN
        client = DirectClient(client, get_session().get_credentials())
    return Table(client, name)


def _split_into_chunks(values: Sequence[T], size: int) -> list[Sequence[T]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def _get_request_key(request: Mapping[str, Any]) -> ItemKey:
    if put := request.get("PutRequest"):
        return get_key(put["Item"])
    return get_key(request["DeleteRequest"]["Key"])
