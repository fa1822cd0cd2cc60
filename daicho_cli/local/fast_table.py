"""Makes MiniStack faster: an index of expiries, texts that are read once, turns for requests."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Container
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from typing import Any

EXPIRED = "#ttl < :now"
"""The filter of the scan that the simulation of TTL sends: an index answers it, in one page."""
TEXTS = 4_096
"""How many different expressions are remembered."""
INSERT = re.compile(r"""INSERT INTO "[^"]+" VALUE \{(('[^']+': \?(, )?)+)\}""")
"""An insert whose values are all parameters."""
BATCHES = {"BatchExecuteStatement", "BatchWriteItem", "TransactWriteItems"}
ROUNDS = 50
"""How often other requests are looked for before one that waits, at most."""


def index_expiries(dynamodb: Any) -> None:
    """Answer scans for expired items from an index of the items that have a ``ttl``.

    An index is built at the first such scan of a table. MiniStack sorts the table for each page.
    """
    set_item, remove_item = dynamodb._set_item, dynamodb._remove_item
    replace_items, scan = dynamodb._items_replaced, dynamodb._scan
    indexes: dict[str, dict[tuple[str, str], float]] = {}

    def note(table: Any, pk: str, sk: str, item: Any) -> None:
        index = indexes.get(table["TableId"])
        if index is None:
            return
        ttl = item.get("ttl", {}).get("N")
        if ttl is None:
            index.pop((pk, sk), None)
        else:
            index[pk, sk] = float(ttl)

    def _set_item(table: Any, pk: str, sk: str, item: Any) -> Any:
        old = set_item(table, pk, sk, item)
        note(table, pk, sk, item)
        return old

    def _remove_item(table: Any, pk: str, sk: str) -> Any:
        old = remove_item(table, pk, sk)
        note(table, pk, sk, {})
        return old

    def _items_replaced(table: Any) -> None:
        replace_items(table)
        indexes.pop(table["TableId"], None)

    def _scan(data: Any) -> Any:
        table = dynamodb._tables.get(data.get("TableName"))
        if not table or data.get("FilterExpression") != EXPIRED:
            return scan(data)
        if table["TableId"] not in indexes:
            indexes[table["TableId"]] = {}
            for pk, items in table["items"].items():
                for sk, item in items.items():
                    note(table, pk, sk, item)
        now = float(data["ExpressionAttributeValues"][":now"]["N"])
        names, shown = data["ExpressionAttributeNames"], data["ProjectionExpression"]
        found = [
            dynamodb._project_item(table["items"][pk][sk], shown, names)
            for (pk, sk), ttl in indexes[table["TableId"]].items()
            if ttl < now
        ]
        count = len(found)
        return dynamodb.json_response({"Items": found, "Count": count, "ScannedCount": count})

    dynamodb._set_item, dynamodb._remove_item = _set_item, _remove_item
    dynamodb._items_replaced, dynamodb._scan = _items_replaced, _scan


def remember_parsed_texts(dynamodb: Any, keywords: Any) -> None:
    """Parse each text of an expression or a statement once."""
    for module in (dynamodb, keywords):
        module._tokenize = _remember_list(module._tokenize)
    dynamodb._condition_syntax_error = _remember(dynamodb._condition_syntax_error)
    parse = _remember_inserts(dynamodb)
    last: list[Any] = [None, None, None]

    def parse_once(statement: Any, parameters: Any) -> Any:
        # A batch parses each statement, and its execution the same objects once more.
        if last[0] is not statement or last[1] is not parameters:
            last[:] = statement, parameters, parse(statement, parameters)
        return last[2]

    dynamodb._parse_partiql = parse_once


def _remember_inserts(dynamodb: Any) -> Any:
    """A function that parses a statement. Inserts of the same attributes are parsed once."""
    parse = dynamodb._parse_partiql
    inserts: dict[str, tuple[list[str], Any]] = {}

    def parse_insert(statement: Any, parameters: Any) -> Any:
        known = inserts.get(statement) if isinstance(statement, str) else None
        if known is None or len(known[0]) != len(parameters or ()):
            parsed = parse(statement, parameters)
            found = INSERT.fullmatch(statement)
            if found and len(inserts) < TEXTS:
                inserts[statement] = re.findall("'([^']+)': ", found[1]), parsed
            return parsed
        for value in parameters:
            if error := dynamodb._partiql_parameter_error(value):
                raise ValueError(error)
        names, parsed = known
        return {**parsed, "item": dict(zip(names, parameters, strict=True))}

    return parse_insert


class Turns:
    """Lets requests wait until no other is to be answered; then they continue one by one.

    MiniStack handles all requests in one thread, in the order in which they arrive. So a page would
    wait for the batches of all that write at that moment, for each request that it makes, and for
    queues, buses and objects, which cost no time of a table on AWS.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = count()
        self._giver: asyncio.Task[None] | None = None

    def hold_back(self, service: Any, rank: int, actions: Container[str] | None = None) -> None:
        """Let requests to a service wait, or those of some actions; a higher rank waits longer."""
        handle = service.handle_request

        async def handle_request(method: str, path: str, headers: Any, *more: Any) -> Any:
            action = headers.get("x-amz-target", "").rpartition(".")[2]
            if actions is None or action in actions:
                await self._wait(rank)
            return await handle(method, path, headers, *more)

        service.handle_request = handle_request

    async def _wait(self, rank: int) -> None:
        turn = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (rank, next(self._numbers), turn))
        if self._giver is None or self._giver.done():
            self._giver = asyncio.create_task(self._give())
        await turn

    async def _give(self) -> None:
        work = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
        while self._waiting:
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
                if not work:
                    break
            *_, turn = heappop(self._waiting)
            if not turn.done():  # its client may have gone
                turn.set_result(None)


def remember_indexes(dynamodb: Any) -> None:
    """Read the keys of a table's indexes once, and not at each write."""
    read = dynamodb._index_key_schemas
    known: dict[tuple[str, ...], Any] = {}

    def _index_key_schemas(table: Any) -> Any:
        indexes = (
            *table.get("GlobalSecondaryIndexes", ()),
            *table.get("LocalSecondaryIndexes", ()),
        )
        key = table["TableId"], *[index["IndexName"] for index in indexes]
        if key not in known:
            known[key] = list(read(table))
        return known[key]

    dynamodb._index_key_schemas = _index_key_schemas


def remember_signatures(gateway: Any) -> None:
    """Verify the signature of each token once. Its times are compared for each request."""
    verify = gateway._verify_rs256_signature
    remembered = lru_cache(TEXTS)(lambda token, key: verify(token, json.loads(key)))
    gateway._verify_rs256_signature = lambda token, key: remembered(token, json.dumps(key))


def _remember(parse: Any) -> Any:
    remembered = lru_cache(TEXTS)(parse)

    def parse_once(text: Any, *given: Any) -> Any:
        return remembered(text, *given) if isinstance(text, str) else parse(text, *given)

    return parse_once


def _remember_list(parse: Any) -> Any:
    parse_once = _remember(parse)
    # A copy: the caller may change it.
    return lambda text: list(parse_once(text))
