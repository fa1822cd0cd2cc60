"""``python -m tests.trials.second_opinions``: the table in memory beside three other services.

The same random requests, of the kinds that the library sends, go to the table in memory, to
Dynoxide, to MiniStack and to moto. The program prints how often each of the three answers
otherwise, and who is right. It exits with 1 if a difference is not explained, and names the
explanations that explained nothing.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws
from mypy_boto3_dynamodb import DynamoDBClient
from rich.console import Console
from rich.table import Table

from daicho.storage.attributes import ItemKey
from tests.integration.storage.test_memory import (
    CONDITIONS,
    ITEM,
    UPDATES,
    asking,
    drawn,
    key_of,
    querying,
    sent,
)
from tests.support import dynoxide
from tests.support.compared_tables import ComparedTables, MethodCall, Outcome, Request
from tests.support.ministack import start_ministack

REQUESTS, SEED = 2_500, 53
INDEXES = ("GSI1", "GSI2", "GSI3")
PARTITIONS, SORT_KEYS = ("a", "b"), ("x", "xy", "z")
BOUNDS = ("", "SK >= :low", "SK < :low", "SK BETWEEN :low AND :high", "begins_with(SK, :low)")
RETURNS = ("NONE", "ALL_OLD", "ALL_NEW")
TEXTS = [each if isinstance(each, str) else each.values[0] for each in UPDATES]


@dataclass(frozen=True)
class Difference:
    """A way in which a service answers otherwise. ``source``: what says who is right."""

    service: str
    reason: str
    source: str
    explains: Callable[[Request, Outcome, Outcome], bool]
    """Of a request, our answer and theirs."""


def _is_accepted(*texts: str) -> Callable[[Request, Outcome, Outcome], bool]:
    def explains(request: Request, ours: Outcome, theirs: Outcome) -> bool:
        text = request.get("UpdateExpression") or request.get("ConditionExpression")
        return text in texts and ours.code != "OK" == theirs.code

    return explains


def _returns_key(request: Request, ours: Outcome, theirs: Outcome) -> bool:
    is_new = request.get("ReturnValues") == "ALL_OLD" and ours.answer == {"Items": []}
    return is_new and theirs.answer == {"Items": [], "Attributes": request.get("Key")}


def _fails_inside(_: Request, ours: Outcome, theirs: Outcome) -> bool:
    return theirs.code == "InternalError" and ours.code == "ValidationException"


def _compares_other_types(_: Request, ours: Outcome, theirs: Outcome) -> bool:
    return theirs.code == "InternalError" and "not supported between" in theirs.message


def _refuses_stored_type(_: Request, ours: Outcome, theirs: Outcome) -> bool:
    is_false = ours.code == "ConditionalCheckFailedException"
    return is_false and "begins_with, operand type" in theirs.message


def _keeps_refused_part(request: Request, ours: Outcome, theirs: Outcome) -> bool:
    """Of the read that follows a refused write: only the set of the first action differs."""
    if request.keys() != {"Key", "ConsistentRead"} or not ours.code == theirs.code == "OK":
        return False
    stored, kept = (dict(each.answer.get("Item", {})) for each in (ours, theirs))
    return stored.pop("set", None) != kept.pop("set", None) and stored == kept


def _ends_with_limit(request: Request, ours: Outcome, theirs: Outcome) -> bool:
    if "Limit" not in request or ours.code != "OK" or "LastEvaluatedKey" not in ours.answer:
        return False
    rest = {name: ours.answer[name] for name in ours.answer if name != "LastEvaluatedKey"}
    return bool(rest == theirs.answer)


def _filters_unprojected(request: Request, ours: Outcome, theirs: Outcome) -> bool:
    is_partial = request.get("IndexName") in ("GSI2", "GSI3") and "FilterExpression" in request
    return is_partial and ours.code == "OK" == theirs.code and not ours.answer.get("Count")


GUIDE = "Developer Guide"
ABSENT = (
    "It takes two attributes that the item does not have as equal.",
    "AWS documents no answer. Ours is that of Dynoxide; the library compares with values alone",
)
DIFFERENCES = (
    Difference(
        "Dynoxide",
        "It returns the key as the old attributes of an item that an update creates.",
        "API Reference, UpdateItem, ReturnValues: as they appeared before the operation",
        _returns_key,
    ),
    Difference(
        "MiniStack",
        "It takes a keyword twice, and skips an action that it cannot read.",
        f"{GUIDE}, Using update expressions: each action keyword can appear only once",
        _is_accepted("SET n = :n SET s = :s", "SET n :n"),
    ),
    Difference("MiniStack", *ABSENT, _is_accepted("n = s")),
    Difference(
        "MiniStack",
        "A query of an index filters by attributes that are not projected into it.",
        f"{GUIDE}, Global secondary indexes, Attribute projections",
        _filters_unprojected,
    ),
    Difference(
        "MiniStack",
        "It refuses begins_with for an attribute that is stored as a number.",
        f"{GUIDE}, begins_with: true if the attribute begins so; the request has no wrong type",
        _refuses_stored_type,
    ),
    Difference("moto", *ABSENT, _is_accepted("n = s")),
    Difference(
        "moto",
        "It keeps the first action of an update that it refuses for the second one.",
        f"{GUIDE}, Working with items: a write either succeeds or changes nothing",
        _keeps_refused_part,
    ),
    Difference(
        "moto",
        "It fails with an exception of Python at a condition that is not complete.",
        "API Reference, Common errors: ValidationException",
        _fails_inside,
    ),
    Difference(
        "moto",
        "It fails with an exception of Python if a number is compared with a text.",
        f"{GUIDE}, Comparison operators: such a comparison is false, and nothing is refused",
        _compares_other_types,
    ),
    Difference(
        "moto",
        "A page that its limit ends at the last item has no LastEvaluatedKey.",
        "API Reference, Query, Limit: it stops there and returns a key in LastEvaluatedKey",
        _ends_with_limit,
    ),
)


class RequestDrawer:
    """Draws requests that the library sends, on few items, so that they meet."""

    def __init__(self, seed: int, tables: ComparedTables) -> None:
        self._rng, self._tables = random.Random(seed), tables

    def draw(self) -> MethodCall:
        """The name of a method of botocore's client, and what it is called with."""
        draws = [self._draw_stream_path, self._draw_put, self._draw_update, self._draw_condition]
        draws += [self._draw_query, self._draw_transaction, self._draw_get]
        (draw,) = self._rng.choices(draws, (6, 3, 4, 3, 4, 2, 1))
        return draw()

    def _draw_stream_path(self) -> MethodCall:
        return drawn(self._rng, self._tables)

    def _draw_key(self) -> Request:
        return key_of(ItemKey(self._rng.choice(PARTITIONS), self._rng.choice(SORT_KEYS)))

    def _draw_put(self) -> MethodCall:
        names = self._rng.sample([name for name in ITEM if name not in ("PK", "SK")], 4)
        item = {name: ITEM[name] for name in names} | self._draw_key()
        for index in self._rng.sample(INDEXES, self._rng.randint(0, 2)):
            item |= {f"{index}PK": {"S": "i"}, f"{index}SK": {"S": self._rng.choice("12")}}
        return "put_item", {"Item": item, "ReturnValues": self._rng.choice(RETURNS[:2])}

    def _draw_update(self) -> MethodCall:
        text, returns = self._rng.choice(TEXTS), self._rng.choice(RETURNS)
        more = {"Key": self._draw_key(), "ReturnValues": returns}
        return "update_item", sent(asking(text, "UpdateExpression", **more))

    def _draw_condition(self) -> MethodCall:
        text, returned = self._rng.choice(CONDITIONS), self._rng.choice(("NONE", "ALL_OLD"))
        more = {"Key": self._draw_key(), "ReturnValuesOnConditionCheckFailure": returned}
        return "delete_item", sent(asking(text, "ConditionExpression", **more))

    def _draw_query(self) -> MethodCall:
        index = self._rng.choice(("", "", *INDEXES))
        request = querying(index, self._rng.choice(PARTITIONS) if not index else "i")
        request |= {"ScanIndexForward": self._rng.random() < 0.5}
        bound = self._rng.choice(BOUNDS)
        if bound:
            request["KeyConditionExpression"] += f" AND {bound.replace('SK', f'{index}SK')}"
            values = {":low": {"S": "1" if index else "x"}, ":high": {"S": "y"}}
            request["ExpressionAttributeValues"] |= {n: v for n, v in values.items() if n in bound}
        if self._rng.random() < 0.5:
            request["Limit"] = self._rng.randint(1, 3)
        match self._rng.randrange(4):
            case 0:
                request["FilterExpression"] = "attribute_exists(n)"
            case 1:
                request["Select"] = "COUNT"
            case 2:
                request["ProjectionExpression"] = "PK, SK"
        return "query", request

    def _draw_transaction(self) -> MethodCall:
        actions: list[Request] = []
        for _ in range(self._rng.randint(1, 3)):
            condition = self._rng.choice(("attribute_exists(PK)", "attribute_not_exists(n)"))
            action = {"Key": self._draw_key(), "ConditionExpression": condition}
            action["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            adding = {
                "UpdateExpression": "ADD m :m",
                "ExpressionAttributeValues": {":m": {"N": "1"}},
            }
            kinds: list[Request] = [{"Delete": action}, {"ConditionCheck": action}]
            kinds.append({"Update": action | adding})
            actions.append(self._rng.choice(kinds))
        return "transact_write_items", {"TransactItems": actions}

    def _draw_get(self) -> MethodCall:
        return "get_item", {"Key": self._draw_key(), "ConsistentRead": self._rng.random() < 0.5}


class AnsweringClient:
    """A client of moto in this process, whose own exceptions become the answer of a server: 500."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._client = client

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            try:
                return getattr(self._client, method)(**request)
            except ClientError:
                raise
            except Exception as error:
                answer: Any = {"Error": {"Code": "InternalError", "Message": repr(error)}}
                raise ClientError(answer, method) from error

        return call


@contextmanager
def open_services() -> Iterator[Mapping[str, DynamoDBClient]]:
    """A client of each service by its name."""
    with ExitStack() as opened:
        port = dynoxide.free_port()
        process = opened.enter_context(start_ministack(port))
        dynoxide.wait_for(process, port)
        clients = {
            "Dynoxide": dynoxide.client(opened.enter_context(dynoxide.serving())),
            "MiniStack": dynoxide.client(f"http://127.0.0.1:{port}"),
        }
        # It answers clients that are made within, and only those of AWS's own addresses.
        opened.enter_context(mock_aws())
        in_process: Any = AnsweringClient(boto3.client("dynamodb", dynoxide.REGION))
        yield clients | {"moto": in_process}


def list_keys(request: Request) -> list[Request]:
    """The keys of the items that a request may change."""
    actions = request.get("TransactItems", [{"": request}])
    written = [inner for action in actions for inner in action.values()]
    keys = [inner.get("Key") or inner.get("Item") for inner in written]
    return [{name: key[name] for name in ("PK", "SK")} for key in keys if key]


def compare(requests: int, seed: int) -> tuple[Counter[tuple[str, str]], list[object], int]:
    """How often each difference was seen by service and reason, and what nothing explains.

    The last is the number of requests that the table in memory does not simulate, and refuses by
    name. No service is asked for them.
    """
    explained: Counter[tuple[str, str]] = Counter()
    unexplained: list[object] = []
    refused = 0
    with open_services() as clients:
        opinions = {
            name: ComparedTables(client, dynoxide.create_table(client))
            for name, client in clients.items()
        }
        drawer = RequestDrawer(seed, opinions["Dynoxide"])
        reads: list[MethodCall] = []
        for _ in range(requests):
            call = reads.pop() if reads else drawer.draw()
            try:
                answers = {name: tables.call(*call) for name, tables in opinions.items()}
            except NotImplementedError:
                refused += 1
                continue
            differs = False
            for name, (ours, theirs) in answers.items():
                if ours == theirs:
                    continue
                differs = True
                own = (each for each in DIFFERENCES if each.service == name)
                known = next((each for each in own if each.explains(call[1], ours, theirs)), None)
                if known:
                    explained[name, known.reason] += 1
                else:
                    unexplained.append((name, call, ours, theirs))
            if call[0] != "get_item" and ours.code == "ValidationException":
                keys = list_keys(call[1])
                reads = [("get_item", {"Key": key, "ConsistentRead": True}) for key in keys]
            if differs:  # they may differ in what is stored, too
                for tables in opinions.values():
                    for key in list_keys(call[1]):
                        tables.call("delete_item", {"Key": key})
    return explained, unexplained, refused


def main() -> int:
    """Compare, print the counts, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    explained, unexplained, refused = compare(given.requests, given.seed)
    console = Console()
    table = Table("service", "differs", "why the table in memory is right", "source")
    for each in DIFFERENCES:
        count = explained[each.service, each.reason]
        table.add_row(each.service, f"{count:,}", each.reason, each.source)
    console.print(table)
    unseen = [each.reason for each in DIFFERENCES if not explained[each.service, each.reason]]
    for problem in unexplained[:5]:
        console.print("not explained:", problem)
    for reason in unseen:
        console.print("not seen:", reason)
    console.print(
        f"{given.requests:,} requests of seed {given.seed}; not simulated: {refused:,}; "
        f"not explained: {len(unexplained):,}"
    )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
