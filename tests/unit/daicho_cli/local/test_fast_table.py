"""The index of expiries follows each write; a text is parsed once; requests wait for others."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

from daicho.storage.requests import build_insert
from daicho_cli.local.fast_table import (
    EXPIRED,
    Turns,
    index_expiries,
    remember_indexes,
    remember_parsed_texts,
    remember_signatures,
)


def make_dynamodb() -> tuple[Any, Any]:
    """What the index uses of MiniStack's module, and a table."""
    table = {"TableId": "1", "items": defaultdict(dict)}

    def set_item(table: Any, pk: str, sk: str, item: Any) -> None:
        table["items"][pk][sk] = item

    dynamodb = SimpleNamespace(
        _tables={"things": table},
        _set_item=set_item,
        _remove_item=lambda table, pk, sk: table["items"][pk].pop(sk),
        _items_replaced=lambda table: None,
        _scan=lambda data: "whole table",
        _project_item=lambda item, shown, names: item["ttl"]["N"],
        json_response=lambda content: content,
    )
    index_expiries(dynamodb)
    return dynamodb, table


def scan(dynamodb: Any, now: int) -> list[str]:
    answer = dynamodb._scan(
        {
            "TableName": "things",
            "FilterExpression": EXPIRED,
            "ExpressionAttributeNames": {},
            "ExpressionAttributeValues": {":now": {"N": str(now)}},
            "ProjectionExpression": "#ttl",
        }
    )
    assert answer["Count"] == len(answer["Items"])
    return sorted(answer["Items"])


def test_the_index_follows_each_write() -> None:
    dynamodb, table = make_dynamodb()
    for number in range(5):
        dynamodb._set_item(table, "a", str(number), {"ttl": {"N": str(number)}})
    dynamodb._set_item(table, "b", "lasting", {})
    assert scan(dynamodb, 3) == ["0", "1", "2"]
    dynamodb._set_item(table, "a", "0", {"ttl": {"N": "9"}})
    dynamodb._set_item(table, "a", "1", {})
    dynamodb._remove_item(table, "a", "2")
    dynamodb._set_item(table, "b", "new", {"ttl": {"N": "2"}})
    assert scan(dynamodb, 3) == ["2"]
    assert scan(dynamodb, 10) == ["2", "3", "4", "9"]
    table["items"] = defaultdict(dict, {"c": {"d": {"ttl": {"N": "7"}}}})
    dynamodb._items_replaced(table)
    assert scan(dynamodb, 10) == ["7"]


def test_other_scans_read_the_table() -> None:
    dynamodb, _ = make_dynamodb()
    assert dynamodb._scan({"TableName": "things"}) == "whole table"
    assert dynamodb._scan({"TableName": "absent", "FilterExpression": EXPIRED}) == "whole table"


def test_a_text_is_parsed_once_and_its_tokens_are_not_shared() -> None:
    parsed: list[Any] = []

    def parse(text: Any, *_: Any) -> list[Any]:
        parsed.append(text)
        return [text]

    module = SimpleNamespace(_tokenize=parse, _condition_syntax_error=parse, _parse_partiql=parse)
    remember_parsed_texts(module, SimpleNamespace(_tokenize=parse))
    module._tokenize("a = b").append("changed")
    assert module._tokenize("a = b") == ["a = b"]
    assert [module._condition_syntax_error("c", slot) for slot in "xyx"] == [["c"]] * 3
    assert parsed == ["a = b", "c", "c"]
    assert module._condition_syntax_error(["no text"], "x") == [["no text"]]
    parameters: list[Any] = []
    first = module._parse_partiql("s", parameters)
    assert module._parse_partiql("s", parameters) is first
    assert module._parse_partiql("s", [*parameters]) is not first


def test_inserts_of_the_same_attributes_are_parsed_once() -> None:
    parsed: list[str] = []

    def parse(statement: str, parameters: list[Any]) -> Any:
        parsed.append(statement)
        return {"op": "INSERT", "table": "things", "item": dict(zip("ab", parameters, strict=True))}

    def find_error(value: Any) -> str | None:
        return None if value["S"] else "no value"

    module = SimpleNamespace(
        _tokenize=parse,
        _condition_syntax_error=parse,
        _parse_partiql=parse,
        _partiql_parameter_error=find_error,
    )
    remember_parsed_texts(module, SimpleNamespace(_tokenize=parse))
    for number in range(3):
        item: Any = {"a": {"S": f"a{number}"}, "b": {"S": f"b{number}"}}
        statement = build_insert("things", item)
        found = module._parse_partiql(statement["Statement"], statement["Parameters"])
        assert found == {"op": "INSERT", "table": "things", "item": item}
    assert len(parsed) == 1
    with pytest.raises(ValueError, match="no value"):
        module._parse_partiql(statement["Statement"], [{"S": "a"}, {"S": ""}])
    with pytest.raises(ValueError, match="shorter"):
        module._parse_partiql(statement["Statement"], [{"S": "a"}])
    other = """INSERT INTO "things" VALUE {'a': ?, 'b': 'fixed'}"""
    for _ in range(2):
        module._parse_partiql(other, [{"S": "a"}, {"S": "b"}])
    assert parsed[2:] == [other, other]


def test_the_keys_of_indexes_are_read_again_after_one_is_added() -> None:
    read: list[Any] = []

    def read_keys(table: Any) -> Any:
        read.append(table)
        return iter(index["IndexName"] for index in table["GlobalSecondaryIndexes"])

    dynamodb = SimpleNamespace(_index_key_schemas=read_keys)
    remember_indexes(dynamodb)
    table = {"TableId": "1", "GlobalSecondaryIndexes": [{"IndexName": "x"}]}
    assert [list(dynamodb._index_key_schemas(table)) for _ in range(2)] == [["x"], ["x"]]
    table["GlobalSecondaryIndexes"] = [{"IndexName": "x"}, {"IndexName": "y"}]
    assert list(dynamodb._index_key_schemas(table)) == ["x", "y"]
    assert len(read) == 2


def test_batches_and_other_services_wait_for_what_is_to_be_answered() -> None:
    handled: list[str] = []

    async def handle(method: str, path: str, headers: Any, *_more: Any) -> None:
        action = headers["x-amz-target"].rpartition(".")[2]
        await asyncio.sleep(0)
        handled.append(action)

    turns, dynamodb = Turns(), SimpleNamespace(handle_request=handle)
    queues = SimpleNamespace(handle_request=handle)
    turns.hold_back(queues, 2)
    turns.hold_back(dynamodb, 1, {"BatchWriteItem"})

    async def send(service: Any, action: str) -> None:
        await service.handle_request("POST", "/", {"x-amz-target": f"v.{action}"})

    async def send_all() -> None:
        gone = asyncio.create_task(send(queues, "Gone"))
        tasks = [
            asyncio.create_task(send(service, action))
            for service, action in (
                (queues, "SendMessage"),
                (dynamodb, "BatchWriteItem"),
                (queues, "DeleteMessage"),
                (dynamodb, "GetItem"),
                (dynamodb, "Query"),
            )
        ]
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(*tasks)
        await send(queues, "Later")

    asyncio.run(send_all())
    first = ["GetItem", "Query", "BatchWriteItem"]
    assert handled == [*first, "SendMessage", "DeleteMessage", "Later"]


def test_a_signature_is_verified_once_for_each_key() -> None:
    verified: list[tuple[str, Any]] = []

    def verify(token: str, key: Any) -> bool:
        verified.append((token, key))
        return bool(key["n"] == "right")

    gateway = SimpleNamespace(_verify_rs256_signature=verify)
    remember_signatures(gateway)
    right, wrong = {"n": "right"}, {"n": "wrong"}
    assert [gateway._verify_rs256_signature("t", key) for key in (right, wrong, right)] == [
        *(True, False, True)
    ]
    assert verified == [("t", right), ("t", wrong)]
