"""DynamoDB in memory, behind the names of botocore's client.

Every call is atomic. Every change of an item is a record in the stream, also of derived items.
Indexes and reads without consistency may show an earlier state. Tests compare the answers with
those of a real DynamoDB interface.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from math import inf
from typing import Any

from daicho.storage.attributes import ItemKey
from daicho.testing.aws import stream_recorder
from daicho.testing.aws.client_errors import (
    build_cancelled_error,
    build_error,
)
from daicho.testing.aws.dynamodb import key_checks
from daicho.testing.aws.dynamodb.attribute_values import (
    Image,
    InvalidActionError,
    InvalidRequestError,
)
from daicho.testing.aws.dynamodb.read_requests import (
    build_scan_page,
    parse_get,
    parse_query,
)
from daicho.testing.aws.dynamodb.write_requests import (
    CONDITION_FAILED,
    ConditionFailedError,
    WriteRequest,
    build_statement_error,
    parse_statements,
    parse_write,
)
from daicho.testing.aws.lagging_index import PROJECTIONS, LaggingIndex
from daicho.testing.aws.stream_recorder import StreamRecorder

Request = Mapping[str, Any]
Answer = dict[str, Any]

MAX_LAG = 6
"""The most recent changes that a read without consistency may not see yet."""
MAX_BATCH_KEYS = 100
MAX_BATCH_WRITES = 25
MAX_ACTIONS = 100


class MemoryDynamoDB:
    """One table with its three indexes.

    ``now``: the time, in UTC. ``recorder`` writes the table's stream. ``lag`` returns the number of
    changes that an index or a read without consistency does not show yet. ``max_lag_s``: the age in
    seconds from which both show every change.
    """

    def __init__(
        self,
        now: Callable[[], dt.datetime],
        recorder: StreamRecorder | None = None,
        lag: Callable[[], int] = lambda: 0,
    ) -> None:
        self._now = now
        self._recorder = recorder
        self.lag = lag
        self.max_lag_s = inf
        self._partitions: dict[str, dict[ItemKey, Image]] = {}
        self._recent_changes: deque[tuple[ItemKey, Image | None, float]] = deque(maxlen=MAX_LAG)
        self.indexes = {
            name: LaggingIndex(name, projection) for name, projection in PROJECTIONS.items()
        }

    # --- For tests ---------------------------------------------------------------------------

    @property
    def items(self) -> Iterator[tuple[ItemKey, Image]]:
        """Every item."""
        return chain.from_iterable(items.items() for items in self._partitions.values())

    def find(self, key: ItemKey) -> Image | None:
        """One item, or None."""
        return self._partitions.get(key.pk, {}).get(key)

    def commit(
        self, key: ItemKey, new: Image | None, identity: Mapping[str, str] | None = None
    ) -> None:
        """Put the item ``new``, or remove the existing one if it is None, and record the change.

        ``identity``: the user identity of the record, if AWS made the change.
        """
        old = self.find(key)
        if new == old:
            return
        if new is None:
            del self._partitions[key.pk][key]
        else:
            self._partitions.setdefault(key.pk, {})[key] = new
        at = self._now().timestamp()
        self._recent_changes.append((key, old, at))
        for index in self.indexes.values():
            index.add_change(key, old, new, at)
        if self._recorder is not None:
            self._recorder.record(key, old, new, identity)

    def expire(self, key: ItemKey) -> bool:
        """Remove an item as DynamoDB's TTL process does; False if it has not expired."""
        if not self.is_expired(key):
            return False
        self.commit(key, None, stream_recorder.TTL_PROCESS)
        return True

    def is_expired(self, key: ItemKey) -> bool:
        """Whether an item's ``ttl`` is in the past."""
        until = (self.find(key) or {}).get("ttl", {}).get("N")
        return until is not None and int(until) < self._now().timestamp()

    # --- The methods of botocore's client ----------------------------------------------------

    def get_item(self, **request: Any) -> Answer:
        """Read one item."""
        with _translate_errors("GetItem"):
            expressions = parse_get(request)
            key = key_checks.read_exact_key(request["Key"])
        item = self._read(key, request.get("ConsistentRead", False))
        return {"Item": expressions.select(item)} if item is not None else {}

    def batch_get_item(self, **request: Any) -> Answer:
        """Read many items; those that do not exist are left out."""
        with _translate_errors("BatchGetItem"):
            answers = {
                table: self._read_batch(batch) for table, batch in request["RequestItems"].items()
            }
            if not answers:
                raise InvalidRequestError("the batch is empty")
        return {"Responses": answers, "UnprocessedKeys": {}}

    def put_item(self, **request: Any) -> Answer:
        """Write a whole item."""
        return self._write("PutItem", request)

    def update_item(self, **request: Any) -> Answer:
        """Change an item, or create it."""
        return self._write("UpdateItem", request)

    def delete_item(self, **request: Any) -> Answer:
        """Remove an item."""
        return self._write("DeleteItem", request)

    def batch_write_item(self, **request: Any) -> Answer:
        """Write and remove many items, each separately."""
        with _translate_errors("BatchWriteItem"):
            changes = [
                change
                for requests in request["RequestItems"].values()
                for change in _parse_batch(requests)
            ]
            if not changes:
                raise InvalidRequestError("the batch is empty")
        for key, new in changes:
            self.commit(key, new)
        return {"UnprocessedItems": {}}

    def batch_execute_statement(self, **request: Any) -> Answer:
        """Insert many items, each separately, in the order of the statements."""
        with _translate_errors("BatchExecuteStatement"):
            items = parse_statements(request)
        return {"Responses": [self._insert(item) for item in items]}

    def transact_write_items(self, **request: Any) -> Answer:
        """All or nothing. That a repeated request does nothing again is not simulated here."""
        with _translate_errors("TransactWriteItems"):
            self._transact(_parse_actions(request["TransactItems"]))
        return {}

    def query(self, **request: Any) -> Answer:
        """One page of the table or of an index."""
        consistent = request.get("ConsistentRead", False)
        with _translate_errors("Query"):
            query = parse_query(request)
            return query.build_page(self._list_partition(query.partition, query.index, consistent))

    def scan(self, **request: Any) -> Answer:
        """One page of the whole table, in the order of the keys."""
        items = self._list_visible(dict(self.items), request.get("ConsistentRead", False))
        with _translate_errors("Scan"):
            return build_scan_page(items, request)

    # --- Internals ---------------------------------------------------------------------------

    def _read(self, key: ItemKey, consistent: bool) -> Image | None:
        for changed, before in () if consistent else reversed(self._list_unseen_changes()):
            if changed == key:
                return before
        return self.find(key)

    def _read_batch(self, batch: Request) -> list[Image]:
        expressions = parse_get(batch)
        keys = [key_checks.read_exact_key(key) for key in batch["Keys"]]
        if len(set(keys)) != len(keys) or not 1 <= len(keys) <= MAX_BATCH_KEYS:
            raise InvalidRequestError(f"duplicates, or not 1 to {MAX_BATCH_KEYS} keys")
        items = [self._read(key, batch.get("ConsistentRead", False)) for key in keys]
        return [expressions.select(item) for item in items if item is not None]

    def _write(self, operation: str, request: Request) -> Answer:
        with _translate_errors(operation):
            write = parse_write(operation, request)
            key = write.read_key()
            old = self.find(key)
            new = write.apply(old)
        self.commit(key, new)
        return write.build_return_values(old, new)

    def _insert(self, item: Image) -> Answer:
        try:
            write = parse_write("Insert", {"Item": item})
            key = write.read_key()
            new = write.apply(None)
        except InvalidRequestError as error:
            return build_statement_error("ValidationError", str(error))
        if self.find(key) is not None:
            return build_statement_error("DuplicateItem", "Duplicate primary key exists in table")
        self.commit(key, new)
        return {}

    def _transact(self, writes: Sequence[WriteRequest]) -> None:
        changes: dict[ItemKey, Image | None] = {}
        reasons: list[dict[str, Any]] = []
        for write in writes:
            try:
                key = write.read_key()
                changes[key] = write.apply(self.find(key))
            except ConditionFailedError as failed:
                reason = {"Code": "ConditionalCheckFailed", "Message": CONDITION_FAILED}
                reasons.append(reason | failed.members)
            except InvalidActionError as error:
                reasons.append({"Code": "ValidationError", "Message": str(error)})
            else:
                reasons.append({"Code": "None"})
        if len(changes) < len(writes):
            raise build_cancelled_error(reasons)
        for key, new in changes.items():
            self.commit(key, new)

    def _list_partition(self, pk: str, index: str, consistent: bool) -> list[Image]:
        if index:
            until = self._now().timestamp() - self.max_lag_s
            self.indexes[index].catch_up(self.lag(), until)
            return self.indexes[index].list_partition(pk)
        return self._list_visible(dict(self._partitions.get(pk, {})), consistent, pk)

    def _list_visible(
        self, items: dict[ItemKey, Image], consistent: bool, pk: str | None = None
    ) -> list[Image]:
        """Items of the table or of a partition as a read sees them, in the order of their keys."""
        for key, before in () if consistent else self._list_unseen_changes():
            if pk in (None, key.pk):
                items.pop(key, None)
                items |= {key: before} if before is not None else {}
        return [items[key] for key in sorted(items)]

    def _list_unseen_changes(self) -> list[tuple[ItemKey, Image | None]]:
        """The last changes, newest first, that a read without consistency does not see."""
        if self._recent_changes and (behind := self.lag()):
            until = self._now().timestamp() - self.max_lag_s
            unseen = list(self._recent_changes)[: -behind - 1 : -1]
            return [(key, before) for key, before, at in unseen if at > until]
        return []


@contextmanager
def _translate_errors(operation: str) -> Iterator[None]:
    """Raise what botocore's client raises for a refused request and for a failed condition."""
    try:
        yield
    except ConditionFailedError as failed:
        raise build_error(
            "ConditionalCheckFailedException", operation, CONDITION_FAILED, **failed.members
        ) from None
    except InvalidRequestError as error:
        raise build_error("ValidationException", operation, str(error)) from None


def _parse_actions(actions: Sequence[Request]) -> list[WriteRequest]:
    if not 1 <= len(actions) <= MAX_ACTIONS:
        raise InvalidRequestError(f"not 1 to {MAX_ACTIONS} actions")
    writes: list[WriteRequest] = []
    keys: set[ItemKey] = set()
    for action in actions:
        if len(action) != 1:
            raise InvalidRequestError("an action is not exactly one of Put, Update and so on")
        ((verb, request),) = action.items()
        write = parse_write(verb, request)
        writes.append(write)
        # A key that does not fit the schema is the reason for which its action is cancelled.
        with suppress(InvalidActionError):
            if (key := write.read_key()) in keys:
                raise InvalidRequestError(f"two actions on one item: {key}")
            keys.add(key)
    return writes


def _parse_batch(requests: Sequence[Request]) -> list[tuple[ItemKey, Image | None]]:
    writes = [parse_write(*action) for request in requests for action in request.items()]
    changes = [(write.read_key(), write.apply(None)) for write in writes]
    if len({key for key, _ in changes}) != len(changes):
        raise InvalidRequestError("two requests for one item")
    if not 1 <= len(changes) <= MAX_BATCH_WRITES:
        raise InvalidRequestError(f"not 1 to {MAX_BATCH_WRITES} requests")
    return changes
