"""DynamoDB in memory, behind the names of botocore's client.

Every call is atomic. Every change of an item is a record in the stream, also of derived items.
Indexes and reads without consistency may show an earlier state. Tests compare the answers with
those of a real DynamoDB interface.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from daicho.storage.item_key import ItemKey
from daicho.testing.aws import expressions, stream_recorder
from daicho.testing.aws.attribute_values import Image, InvalidRequestError
from daicho.testing.aws.client_errors import (
    build_cancelled_error,
    build_error,
    build_validation_error,
)
from daicho.testing.aws.expressions import ParsedExpression, Scope
from daicho.testing.aws.lagging_index import PROJECTIONS, LaggingIndex
from daicho.testing.aws.stream_recorder import StreamRecorder

Request = Mapping[str, Any]
Answer = dict[str, Any]

MAX_LAG = 6
"""The most recent changes that a read without consistency may not see yet."""
TOKEN_LIFETIME = dt.timedelta(minutes=10)
CONDITION_FAILED = "The conditional request failed"


class ConditionFailedError(Exception):
    """A condition is not met. ``item``: the existing item."""

    def __init__(self, item: Image | None) -> None:
        super().__init__(CONDITION_FAILED)
        self.item = item


def get_no_lag() -> int:
    """Every change is visible at once."""
    return 0


class MemoryDynamoDB:
    """One table with its three indexes.

    ``now``: the time, in UTC. ``recorder`` writes the table's stream. ``lag`` returns the number of
    changes that an index or a read without consistency does not show yet.
    """

    def __init__(
        self,
        now: Callable[[], dt.datetime],
        recorder: StreamRecorder | None = None,
        lag: Callable[[], int] = get_no_lag,
    ) -> None:
        self._now = now
        self._recorder = recorder
        self.lag = lag
        self._partitions: dict[str, dict[str, Image]] = {}
        self._recent_changes: deque[tuple[ItemKey, Image | None]] = deque(maxlen=MAX_LAG)
        self._tokens: dict[str, tuple[dt.datetime, Any]] = {}
        self.indexes = {
            name: LaggingIndex(name, projection) for name, projection in PROJECTIONS.items()
        }

    # --- For tests ---------------------------------------------------------------------------

    @property
    def items(self) -> Iterator[tuple[ItemKey, Image]]:
        """Every item."""
        for pk, partition in self._partitions.items():
            for sk, item in partition.items():
                yield ItemKey(pk, sk), item

    def find(self, key: ItemKey) -> Image | None:
        """One item, or None."""
        return self._partitions.get(key.pk, {}).get(key.sk)

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
            del self._partitions[key.pk][key.sk]
        else:
            self._partitions.setdefault(key.pk, {})[key.sk] = new
        self._recent_changes.append((key, old))
        for index in self.indexes.values():
            index.add_change(key, old, new)
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
        item = self._read(_get_key(request["Key"]), request.get("ConsistentRead", False))
        return {"Item": dict(item)} if item is not None else {}

    def batch_get_item(self, **request: Any) -> Answer:
        """Read many items; those that do not exist are left out."""
        answers: dict[str, list[Image]] = {}
        for table, batch in request["RequestItems"].items():
            keys = [_get_key(key) for key in batch["Keys"]]
            if len(set(keys)) != len(keys) or not 1 <= len(keys) <= 100:
                raise build_validation_error("BatchGetItem", "duplicates, or not 1 to 100 keys")
            items = [self._read(key, batch.get("ConsistentRead", False)) for key in keys]
            answers[table] = [dict(item) for item in items if item is not None]
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
        for requests in request["RequestItems"].values():
            changes = [_parse_batch_request(entry) for entry in requests]
            if len({key for key, _ in changes}) != len(changes) or not 1 <= len(changes) <= 25:
                raise build_validation_error(
                    "BatchWriteItem", "duplicates, or not 1 to 25 requests"
                )
            for key, new in changes:
                self.commit(key, new)
        return {"UnprocessedItems": {}}

    def transact_write_items(self, **request: Any) -> Answer:
        """All or nothing; the same token within ten minutes does nothing again."""
        actions = [next(iter(action.items())) for action in request["TransactItems"]]
        token = request.get("ClientRequestToken")
        if token is not None and token in self._tokens:
            began, before = self._tokens[token]
            if self._now() - began < TOKEN_LIFETIME:
                if before != actions:
                    raise build_error(
                        "IdempotentParameterMismatchException", "TransactWriteItems", ""
                    )
                return {}
        self._transact(actions)
        if token is not None:
            self._tokens[token] = (self._now(), actions)
        return {}

    def query(self, **request: Any) -> Answer:
        """One page of the table or of an index."""
        try:
            return self._query(request)
        except InvalidRequestError as error:
            raise build_validation_error("Query", str(error)) from None

    # --- Internals ---------------------------------------------------------------------------

    def _read(self, key: ItemKey, consistent: bool) -> Image | None:
        if not consistent and self._recent_changes and (behind := self.lag()):
            for changed, before in list(self._recent_changes)[-behind:]:
                if changed == key:
                    return before
        return self.find(key)

    def _write(self, operation: str, request: Request) -> Answer:
        try:
            key, old, new = self._compute_write(operation, request)
        except ConditionFailedError as failed:
            more: dict[str, Any] = {}
            wanted = request.get("ReturnValuesOnConditionCheckFailure")
            if wanted == "ALL_OLD" and failed.item is not None:
                more["Item"] = dict(failed.item)
            raise build_error(
                "ConditionalCheckFailedException", operation, CONDITION_FAILED, **more
            ) from None
        except InvalidRequestError as error:
            raise build_validation_error(operation, str(error)) from None
        self.commit(key, new)
        return _build_return_values(request.get("ReturnValues", "NONE"), old, new)

    def _compute_write(
        self, operation: str, request: Request
    ) -> tuple[ItemKey, Image | None, Image | None]:
        """The key, the old and the new item of a write whose condition is met."""
        key = _get_key(request["Item"] if operation == "PutItem" else request["Key"])
        old = self.find(key)
        names = request.get("ExpressionAttributeNames", {})
        values = request.get("ExpressionAttributeValues", {})
        used: list[ParsedExpression] = []
        if condition := request.get("ConditionExpression"):
            used.append(expressions.parse_condition(condition))
        if operation == "UpdateItem" and request.get("UpdateExpression"):
            used.append(expressions.parse_update(request["UpdateExpression"]))
        _check_placeholders(used, names, values)
        if condition and not expressions.is_true(used[0].tree, Scope(old or {}, names, values)):
            raise ConditionFailedError(old)
        if operation == "PutItem":
            return key, old, dict(request["Item"])
        if operation in ("DeleteItem", "ConditionCheck"):
            return key, old, None if operation == "DeleteItem" else old
        base = old if old is not None else request["Key"]
        if "UpdateExpression" not in request:
            return key, old, base
        new = expressions.apply_update(used[-1].tree, Scope(base, names, values))
        if _get_key(new) != key:
            raise InvalidRequestError("an update cannot change its item's key")
        return key, old, new

    def _transact(self, actions: Sequence[tuple[str, Request]]) -> None:
        planned: list[tuple[ItemKey, Image | None]] = []
        reasons: list[dict[str, Any]] = []
        for verb, request in actions:
            operation = verb if verb == "ConditionCheck" else f"{verb}Item"
            try:
                key, _, new = self._compute_write(operation, request)
            except ConditionFailedError as failed:
                reason: dict[str, Any] = {
                    "Code": "ConditionalCheckFailed",
                    "Message": CONDITION_FAILED,
                }
                wanted = request.get("ReturnValuesOnConditionCheckFailure")
                if wanted == "ALL_OLD" and failed.item is not None:
                    reason["Item"] = dict(failed.item)
                reasons.append(reason)
                continue
            except InvalidRequestError as error:
                raise build_validation_error("TransactWriteItems", str(error)) from None
            planned.append((key, new))
            reasons.append({"Code": "None"})
        if len(planned) < len(actions):
            raise build_cancelled_error(reasons)
        if len({key for key, _ in planned}) < len(planned) or len(planned) > 100:
            raise build_validation_error(
                "TransactWriteItems", "over 100 actions, or two on one item"
            )
        for key, new in planned:
            self.commit(key, new)

    def _query(self, request: Request) -> Answer:
        index, consistent = request.get("IndexName", ""), request.get("ConsistentRead", False)
        names = request.get("ExpressionAttributeNames", {})
        values = request.get("ExpressionAttributeValues", {})
        used = [expressions.parse_condition(request["KeyConditionExpression"])]
        for name, read in (
            ("FilterExpression", expressions.parse_condition),
            ("ProjectionExpression", expressions.parse_projection),
        ):
            if name in request:
                used.append(read(request[name]))
        _check_placeholders(used, names, values)
        if index and consistent:
            raise InvalidRequestError("an index cannot be read consistently")
        equal = dict(expressions.find_equalities(used[0].tree, Scope({}, names, values)))
        partition = equal.get((f"{index}PK",))
        if partition is None:
            raise InvalidRequestError(f"the key condition does not compare {index}PK")
        items = [
            item
            for item in self._list_partition(partition["S"], index, consistent)
            if expressions.is_true(used[0].tree, Scope(item, names, values))
        ]
        return _build_page(items, request, index)

    def _list_partition(self, pk: str, index: str, consistent: bool) -> list[Image]:
        if index:
            self.indexes[index].catch_up(self.lag())
            return self.indexes[index].list_partition(pk)
        items = dict(self._partitions.get(pk, {}))
        if not consistent and self._recent_changes and (behind := self.lag()):
            for key, before in reversed(list(self._recent_changes)[-behind:]):
                if key.pk == pk:
                    items.pop(key.sk, None)
                    items |= {key.sk: before} if before is not None else {}
        return [items[sk] for sk in sorted(items)]


def _get_key(image: Image) -> ItemKey:
    return ItemKey(image["PK"]["S"], image["SK"]["S"])


def _parse_batch_request(request: Request) -> tuple[ItemKey, Image | None]:
    if put := request.get("PutRequest"):
        return _get_key(put["Item"]), dict(put["Item"])
    return _get_key(request["DeleteRequest"]["Key"]), None


def _check_placeholders(
    used: Sequence[ParsedExpression], names: Mapping[str, str], values: Mapping[str, Any]
) -> None:
    """DynamoDB refuses placeholders that are not defined, and definitions that are not used."""
    for what, given, wanted in (
        ("name", names, frozenset().union(*(parsed.names for parsed in used))),
        ("value", values, frozenset().union(*(parsed.values for parsed in used))),
    ):
        if given.keys() != wanted:
            odd = ", ".join(sorted(given.keys() ^ wanted))
            raise InvalidRequestError(f"a {what} is not defined, or not used: {odd}")


def _build_return_values(wanted: str, old: Image | None, new: Image | None) -> Answer:
    if wanted == "ALL_OLD":
        return {"Attributes": dict(old)} if old is not None else {}
    if wanted == "ALL_NEW":
        return {"Attributes": dict(new or {})}
    if wanted != "NONE":
        raise AssertionError(f"ReturnValues={wanted} is not simulated")
    return {}


def _build_page(items: list[Image], request: Request, index: str) -> Answer:
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    if not request.get("ScanIndexForward", True):
        items.reverse()
    if start := request.get("ExclusiveStartKey"):
        sort_keys = [_get_sort_key(item, index) for item in items]
        forward = request.get("ScanIndexForward", True)
        start_key = _get_sort_key(start, index)
        items = [
            item
            for item, sort_key in zip(items, sort_keys, strict=True)
            if (sort_key > start_key if forward else sort_key < start_key)
        ]
    limit = request.get("Limit")
    answer: Answer = {}
    if limit is not None and len(items) >= limit:
        items = items[:limit]
        attributes = {"PK", "SK", f"{index}PK", f"{index}SK"}
        answer["LastEvaluatedKey"] = {name: items[-1][name] for name in attributes}
    scanned = len(items)
    if "FilterExpression" in request:
        tree = expressions.parse_condition(request["FilterExpression"]).tree
        items = [item for item in items if expressions.is_true(tree, Scope(item, names, values))]
    answer |= {"Count": len(items), "ScannedCount": scanned}
    if "ReturnConsumedCapacity" in request:
        answer["ConsumedCapacity"] = {"TableName": "", "CapacityUnits": 0.5}
    if request.get("Select") == "COUNT":
        return answer
    if "ProjectionExpression" in request:
        paths = expressions.parse_projection(request["ProjectionExpression"]).tree
        wanted = {names.get(path[0], path[0]) for path in paths}
        items = [{name: item[name] for name in item if name in wanted} for item in items]
    return answer | {"Items": [dict(item) for item in items]}


def _get_sort_key(item: Image, index: str) -> tuple[str, ...]:
    return (item[f"{index}SK"]["S"], item["PK"]["S"], item["SK"]["S"])
