"""DynamoDB in memory, behind the names of botocore's client.

Every call is atomic. Every committed change that changes something is a record in the stream, also
of derived items. Indexes lag, and reads that ask for no consistency see the past, by as much as
``lag`` says. `tests/integration/storage/test_memory.py` holds it against a real DynamoDB interface.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from daicho.storage.item_key import ItemKey
from tests.delivery.aws import expressions, journal
from tests.delivery.aws.attributes import Image, InvalidError
from tests.delivery.aws.expressions import Parsed, Scope
from tests.delivery.aws.index import PROJECTIONS, Index
from tests.delivery.aws.journal import Journal

Request = Mapping[str, Any]
Answer = dict[str, Any]

PAST = 6
"""Changes that a read without consistency may not see yet, at most."""
TOKEN_LIVES = dt.timedelta(minutes=10)
REFUSED = "The conditional request failed"


class Refused(Exception):
    """A condition does not hold; with the item that stands there."""

    def __init__(self, item: Image | None) -> None:
        super().__init__(REFUSED)
        self.item = item


def no_lag() -> int:
    """All is seen at once."""
    return 0


class Dynamo:
    """One table. ``lag`` draws how many changes an index or an inconsistent read is behind."""

    def __init__(
        self,
        now: Callable[[], dt.datetime],
        feed: Journal | None = None,
        lag: Callable[[], int] = no_lag,
    ) -> None:
        self._now = now
        self._feed = feed
        self.lag = lag
        self._partitions: dict[str, dict[str, Image]] = {}
        self._past: deque[tuple[ItemKey, Image | None]] = deque(maxlen=PAST)
        self._tokens: dict[str, tuple[dt.datetime, Any]] = {}
        self.indexes = {name: Index(name, kept) for name, kept in PROJECTIONS.items()}

    # --- What tests look at ------------------------------------------------------------------

    @property
    def items(self) -> Iterator[tuple[ItemKey, Image]]:
        """Every item."""
        for pk, partition in self._partitions.items():
            for sk, item in partition.items():
                yield ItemKey(pk, sk), item

    def find(self, key: ItemKey) -> Image | None:
        """One item as it stands."""
        return self._partitions.get(key.pk, {}).get(key.sk)

    def commit(
        self, key: ItemKey, new: Image | None, identity: Mapping[str, str] | None = None
    ) -> None:
        """Put ``new``, or remove what stands there where it is None; its record follows."""
        old = self.find(key)
        if new == old:
            return
        if new is None:
            del self._partitions[key.pk][key.sk]
        else:
            self._partitions.setdefault(key.pk, {})[key.sk] = new
        self._past.append((key, old))
        for index in self.indexes.values():
            index.note(key, old, new)
        if self._feed is not None:
            self._feed.record(key, old, new, identity)

    def expire(self, key: ItemKey) -> bool:
        """What DynamoDB's TTL process does to an item; False if it is not past its time."""
        if not self.is_past(key):
            return False
        self.commit(key, None, journal.TTL_PROCESS)
        return True

    def is_past(self, key: ItemKey) -> bool:
        """Whether an item's ``ttl`` is in the past."""
        until = (self.find(key) or {}).get("ttl", {}).get("N")
        return until is not None and int(until) < self._now().timestamp()

    # --- botocore's methods ------------------------------------------------------------------

    def get_item(self, **request: Any) -> Answer:
        """Read one item."""
        found = self._read(_key(request["Key"]), request.get("ConsistentRead", False))
        return {"Item": dict(found)} if found is not None else {}

    def batch_get_item(self, **request: Any) -> Answer:
        """Read many items; those that are not there are left out."""
        answers: dict[str, list[Image]] = {}
        for table, asked in request["RequestItems"].items():
            keys = [_key(each) for each in asked["Keys"]]
            if len(set(keys)) != len(keys) or not 1 <= len(keys) <= 100:
                raise invalid("BatchGetItem", "duplicates, or not 1 to 100 keys")
            found = [self._read(key, asked.get("ConsistentRead", False)) for key in keys]
            answers[table] = [dict(item) for item in found if item is not None]
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
        """Write and remove many items, each by itself."""
        for requests in request["RequestItems"].values():
            todo = [_batched(each) for each in requests]
            if len({key for key, _ in todo}) != len(todo) or not 1 <= len(todo) <= 25:
                raise invalid("BatchWriteItem", "duplicates, or not 1 to 25 requests")
            for key, new in todo:
                self.commit(key, new)
        return {"UnprocessedItems": {}}

    def transact_write_items(self, **request: Any) -> Answer:
        """All or nothing; the same token within ten minutes does nothing again."""
        actions = [next(iter(each.items())) for each in request["TransactItems"]]
        token = request.get("ClientRequestToken")
        if token is not None and token in self._tokens:
            began, before = self._tokens[token]
            if self._now() - began < TOKEN_LIVES:
                if before != actions:
                    raise error("IdempotentParameterMismatchException", "TransactWriteItems", "")
                return {}
        self._transact(actions)
        if token is not None:
            self._tokens[token] = (self._now(), actions)
        return {}

    def query(self, **request: Any) -> Answer:
        """One page of the table or of an index."""
        try:
            return self._query(request)
        except InvalidError as wrong:
            raise invalid("Query", str(wrong)) from None

    # --- How ---------------------------------------------------------------------------------

    def _read(self, key: ItemKey, consistent: bool) -> Image | None:
        if not consistent and self._past and (behind := self.lag()):
            for changed, before in list(self._past)[-behind:]:
                if changed == key:
                    return before
        return self.find(key)

    def _write(self, operation: str, request: Request) -> Answer:
        try:
            key, old, new = self._planned(operation, request)
        except Refused as refused:
            more: dict[str, Any] = {}
            wanted = request.get("ReturnValuesOnConditionCheckFailure")
            if wanted == "ALL_OLD" and refused.item is not None:
                more["Item"] = dict(refused.item)
            raise error("ConditionalCheckFailedException", operation, REFUSED, **more) from None
        except InvalidError as wrong:
            raise invalid(operation, str(wrong)) from None
        self.commit(key, new)
        return _returned(request.get("ReturnValues", "NONE"), old, new)

    def _planned(
        self, operation: str, request: Request
    ) -> tuple[ItemKey, Image | None, Image | None]:
        """What a write would make of its item, if its condition holds."""
        key = _key(request["Item"] if operation == "PutItem" else request["Key"])
        old = self.find(key)
        names = request.get("ExpressionAttributeNames", {})
        values = request.get("ExpressionAttributeValues", {})
        used: list[Parsed] = []
        if condition := request.get("ConditionExpression"):
            used.append(expressions.condition(condition))
        if operation == "UpdateItem" and request.get("UpdateExpression"):
            used.append(expressions.update(request["UpdateExpression"]))
        _check_used(used, names, values)
        if condition and not expressions.holds(used[0].tree, Scope(old or {}, names, values)):
            raise Refused(old)
        if operation == "PutItem":
            return key, old, dict(request["Item"])
        if operation in ("DeleteItem", "ConditionCheck"):
            return key, old, None if operation == "DeleteItem" else old
        begin = old if old is not None else request["Key"]
        if "UpdateExpression" not in request:
            return key, old, begin
        new = expressions.changed(used[-1].tree, Scope(begin, names, values))
        if _key(new) != key:
            raise InvalidError("an update cannot change its item's key")
        return key, old, new

    def _transact(self, actions: Sequence[tuple[str, Request]]) -> None:
        planned: list[tuple[ItemKey, Image | None]] = []
        reasons: list[dict[str, Any]] = []
        for verb, request in actions:
            operation = verb if verb == "ConditionCheck" else f"{verb}Item"
            try:
                key, _, new = self._planned(operation, request)
            except Refused as refused:
                reason: dict[str, Any] = {"Code": "ConditionalCheckFailed", "Message": REFUSED}
                wanted = request.get("ReturnValuesOnConditionCheckFailure")
                if wanted == "ALL_OLD" and refused.item is not None:
                    reason["Item"] = dict(refused.item)
                reasons.append(reason)
                continue
            except InvalidError as wrong:
                raise invalid("TransactWriteItems", str(wrong)) from None
            planned.append((key, new))
            reasons.append({"Code": "None"})
        if len(planned) < len(actions):
            raise cancelled(reasons)
        if len({key for key, _ in planned}) < len(planned) or len(planned) > 100:
            raise invalid("TransactWriteItems", "over 100 actions, or two on one item")
        for key, new in planned:
            self.commit(key, new)

    def _query(self, request: Request) -> Answer:
        index, consistent = request.get("IndexName", ""), request.get("ConsistentRead", False)
        names = request.get("ExpressionAttributeNames", {})
        values = request.get("ExpressionAttributeValues", {})
        used = [expressions.condition(request["KeyConditionExpression"])]
        for name, read in (
            ("FilterExpression", expressions.condition),
            ("ProjectionExpression", expressions.projection),
        ):
            if name in request:
                used.append(read(request[name]))
        _check_used(used, names, values)
        if index and consistent:
            raise InvalidError("an index cannot be read consistently")
        equal = dict(expressions.equalities(used[0].tree, Scope({}, names, values)))
        partition = equal.get((f"{index}PK",))
        if partition is None:
            raise InvalidError(f"the key condition says nothing of {index}PK")
        found = self._partition(partition["S"], index, consistent)
        found = [
            item for item in found if expressions.holds(used[0].tree, Scope(item, names, values))
        ]
        return _page(found, request, index)

    def _partition(self, pk: str, index: str, consistent: bool) -> list[Image]:
        if index:
            self.indexes[index].catch_up(self.lag())
            return self.indexes[index].partition(pk)
        found = dict(self._partitions.get(pk, {}))
        if not consistent and self._past and (behind := self.lag()):
            for key, before in reversed(list(self._past)[-behind:]):
                if key.pk == pk:
                    found.pop(key.sk, None)
                    found |= {key.sk: before} if before is not None else {}
        return [found[sk] for sk in sorted(found)]


def error(
    code: str, operation: str, message: str, *, status: int = 400, **more: Any
) -> ClientError:
    """What botocore raises for an answer that is an error."""
    answer: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
        **more,
    }
    return ClientError(answer, operation)


def invalid(operation: str, message: str) -> ClientError:
    """A request that can never succeed."""
    return error("ValidationException", operation, message)


def cancelled(reasons: Sequence[Mapping[str, Any]]) -> ClientError:
    """A transaction that did nothing."""
    codes = ", ".join(each["Code"] for each in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific [{codes}]"
    code = "TransactionCanceledException"
    return error(code, "TransactWriteItems", message, CancellationReasons=list(reasons))


def _key(image: Image) -> ItemKey:
    return ItemKey(image["PK"]["S"], image["SK"]["S"])


def _batched(request: Request) -> tuple[ItemKey, Image | None]:
    if put := request.get("PutRequest"):
        return _key(put["Item"]), dict(put["Item"])
    return _key(request["DeleteRequest"]["Key"]), None


def _check_used(
    used: Sequence[Parsed], names: Mapping[str, str], values: Mapping[str, Any]
) -> None:
    """DynamoDB refuses placeholders that are not defined, and definitions that are not used."""
    for what, given, wanted in (
        ("name", names, frozenset().union(*(each.names for each in used))),
        ("value", values, frozenset().union(*(each.values for each in used))),
    ):
        if given.keys() != wanted:
            odd = ", ".join(sorted(given.keys() ^ wanted))
            raise InvalidError(f"a {what} is not defined, or not used: {odd}")


def _returned(wanted: str, old: Image | None, new: Image | None) -> Answer:
    if wanted == "ALL_OLD":
        return {"Attributes": dict(old)} if old is not None else {}
    if wanted == "ALL_NEW":
        return {"Attributes": dict(new or {})}
    if wanted != "NONE":
        raise AssertionError(f"ReturnValues={wanted} is not played here")
    return {}


def _page(found: list[Image], request: Request, index: str) -> Answer:
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    if not request.get("ScanIndexForward", True):
        found.reverse()
    if start := request.get("ExclusiveStartKey"):
        places = [_place(item, index) for item in found]
        forward = request.get("ScanIndexForward", True)
        begin = _place(start, index)
        found = [
            item
            for item, place in zip(found, places, strict=True)
            if (place > begin if forward else place < begin)
        ]
    limit = request.get("Limit")
    answer: Answer = {}
    if limit is not None and len(found) >= limit:
        found = found[:limit]
        attributes = {"PK", "SK", f"{index}PK", f"{index}SK"}
        answer["LastEvaluatedKey"] = {name: found[-1][name] for name in attributes}
    scanned = len(found)
    if "FilterExpression" in request:
        tree = expressions.condition(request["FilterExpression"]).tree
        found = [item for item in found if expressions.holds(tree, Scope(item, names, values))]
    answer |= {"Count": len(found), "ScannedCount": scanned}
    if "ReturnConsumedCapacity" in request:
        answer["ConsumedCapacity"] = {"TableName": "", "CapacityUnits": 0.5}
    if request.get("Select") == "COUNT":
        return answer
    if "ProjectionExpression" in request:
        paths = expressions.projection(request["ProjectionExpression"]).tree
        wanted = {names.get(path[0], path[0]) for path in paths}
        found = [{name: item[name] for name in item if name in wanted} for item in found]
    return answer | {"Items": [dict(item) for item in found]}


def _place(item: Image, index: str) -> tuple[str, ...]:
    return (item[f"{index}SK"]["S"], item["PK"]["S"], item["SK"]["S"])
