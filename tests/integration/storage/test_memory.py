"""The DynamoDB in memory of the delivery tests answers what a real DynamoDB interface does."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from typing import Any

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.derive.contributions import Amount
from daicho.layout.heartbeats import HeartbeatName
from daicho.storage.attributes import Image, ItemKey, parse_number
from daicho.storage.requests import Update
from daicho.stream import claims
from daicho.stream.claims import Claim
from daicho.tally import slots, total_items
from tests.support.compared_tables import NOW, ComparedTables, MethodCall, Request, normalise
from tests.support.sample_ledger import build_tally_key

TALLY = build_tally_key("Song", "count", 1)
AMOUNTS = ("0", "-1", "2.5", "1e20")
SHARD = "shardId-1"


def key_of(key: ItemKey) -> dict[str, Any]:
    return {"PK": {"S": key.pk}, "SK": {"S": key.sk}}


def updating(change: Update, returns: str = "NONE") -> MethodCall:
    request: Request = {
        "Key": key_of(change.key),
        "UpdateExpression": change.update,
        "ConditionExpression": change.condition,
        "ExpressionAttributeValues": dict(change.values),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        "ReturnValues": returns,
    }
    names = {"ExpressionAttributeNames": dict(change.names)} if change.names else {}
    return "update_item", request | names


@pytest.fixture
def tables(dynamodb: DynamoDBClient, table_name: str) -> ComparedTables:
    return ComparedTables(dynamodb, table_name)


def test_whatever_the_stream_path_asks_is_answered_alike(tables: ComparedTables) -> None:
    rng = random.Random(20261121)
    for _ in range(500):
        tables.ask(*drawn(rng, tables))
    for request in (
        querying("", TALLY, ConsistentRead=True),
        querying("", "d", ScanIndexForward=False),
        querying("GSI2", "#dirty#0"),
        querying("GSI2", claims.QUARANTINE),
    ):
        assert tables.ask("query", request) is not None


def drawn(rng: random.Random, tables: ComparedTables) -> MethodCall:
    """One of the requests of the stream path, with values drawn."""
    seq, last = sorted(rng.choices("123456789", k=2))
    amount = Amount(rng.randint(-2, 2), parse_number(rng.choice(AMOUNTS)))
    key = slots.build_slot_key(TALLY, rng.choice("ab"))
    claim = Claim(seq, rng.choice(("open", "uncertain", "discarded")), "Song", 1, NOW)
    now = NOW + dt.timedelta(seconds=rng.randint(0, 3))
    returns = rng.choice(("NONE", "ALL_NEW"))
    stands = tables.memory.find(key)
    stale = {**(stands or {**key_of(key)}), "rev": {"N": str(rng.randint(1, 9))}}
    slot = rng.choice((stands, stands, stale)) or stale
    shard = claims.ShardClaims.from_item(SHARD, tables.memory.find(claims.build_shard_key(SHARD)))
    stood = rng.choice([*shard.claims.values(), claim])
    changes: list[Update] = [
        slots.add_delta(key, amount, seq, last, dirty_shards=1, now=now),
        slots.clear_dirty_mark(slot),
        claims.put_claim_update(SHARD, claim),
        claims.announce_update(
            SHARD,
            claims.Announcement(seq, last, {HeartbeatName("run", "E#1"): seq}),
            now,
            raises_low_watermark=rng.random() < 0.5,
        ),
        claims.forget_heartbeats_update(
            claims.build_shard_key(SHARD), [HeartbeatName("run", "E#1")]
        ),
        claims.finish_update(SHARD, stood, now),
        claims.expire_claims_update(SHARD, [stood]),
        claims.unlist_shard_update(SHARD, now),
    ]
    derived = {"PK": {"S": "d"}, "SK": {"S": rng.choice("xy")}, "seq": {"S": seq}}
    total = tables.memory.find(total_items.build_total_key(TALLY))
    place = rng.choice((None, ItemKey("ranking", "0")))
    totalling = total_items.write_total(TALLY, rng.choice((total, None)), amount, place, 1)
    read: Image = total or totalling.item
    old: Image = {**read, "rev": {"N": str(rng.randint(1, 9))}}
    writes, _ = total_items.fold_idle_slots(rng.choice((read, old)), [slot])
    asks: list[MethodCall] = [updating(change, returns) for change in changes]
    redriven = slots.add_redriven_delta(key, amount, dirty_shards=1, now=now)
    asks += [
        (
            "put_item",
            {
                "Item": derived,
                "ConditionExpression": f"{slots.FENCE}:seq",
                "ExpressionAttributeValues": {":seq": {"S": seq}},
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        ),
        ("put_item", totalling.to_request()),
        (
            "transact_write_items",
            {"TransactItems": [{type(each).__name__: each.to_request()} for each in writes]},
        ),
        (
            "transact_write_items",
            {
                "TransactItems": [
                    {"Update": without_returns(updating(claims.finish_update(SHARD, stood, now)))},
                    {"Update": redriven.to_request()},
                ]
            },
        ),
    ]
    return rng.choice(asks)


def without_returns(ask: MethodCall) -> Request:
    return {name: value for name, value in ask[1].items() if name != "ReturnValues"}


def querying(index: str, partition: str, **more: Any) -> Request:
    return {
        "KeyConditionExpression": "#pk = :pk",
        "ExpressionAttributeNames": {"#pk": f"{index}PK"},
        "ExpressionAttributeValues": {":pk": {"S": partition}},
        **({"IndexName": index} if index else {}),
        **more,
    }


ITEM: Request = {
    "PK": {"S": "a"},
    "SK": {"S": "b"},
    "n": {"N": "5"},
    "s": {"S": "text"},
    "set": {"SS": ["x", "y"]},
    "list": {"L": [{"N": "1"}, {"S": "two"}]},
    "map": {"M": {"in": {"N": "1"}, "deep": {"M": {"er": {"S": "!"}}}}},
    "no": {"NULL": True},
}
VALUES: Request = {
    ":n": {"N": "5.0"},
    ":m": {"N": "7"},
    ":s": {"S": "te"},
    ":x": {"S": "x"},
    ":set": {"SS": ["y", "z"]},
    ":map": {"M": {"deep": {"M": {"er": {"S": "!"}}}, "in": {"N": "1.0"}}},
}
CONDITIONS = (
    "n = :n",
    "n <> :n",
    "n < :m AND n > :s",
    "absent <> :n",
    "absent = :n OR NOT absent < :n",
    "n BETWEEN :n AND :m",
    "s BETWEEN :s AND :x",
    "n IN (:m, :n, :s)",
    "begins_with(s, :s) AND attribute_exists(#map)",
    "contains(s, :s) AND NOT contains(s, :x)",
    "attribute_not_exists(nothing) AND (n <= :m AND (s >= :s OR n = :m))",
    "#map = :map",
    "n = s",
    "n = :n AND",
    "(n = :n",
)
REFUSED = pytest.mark.dynoxide("updates that DynamoDB refuses")
UPDATES: tuple[Any, ...] = (
    "SET n = :n, fresh = if_not_exists(absent, :s) REMOVE s ADD m :m",
    "SET n = n + :m, m = n",
    "SET m = if_not_exists(n, :m) + :m",
    pytest.param("SET n = :n SET s = :s", marks=REFUSED),
    "REMOVE #map, absent",
    "ADD #set :set, fresh :set",
    "ADD s :m",
    "DELETE #set :set",
    "SET n = absent",
    "SET PK = :s",
    pytest.param("SET n :n", marks=REFUSED),
)
NOT_SIMULATED = ("size(s) = :n", "#map.deep = :n", "attribute_type(s, :s)", "unknown(n)")


def asking(text: str, what: str, **more: Any) -> Request:
    """A request with one expression, and just what it uses."""
    return {
        what: text,
        "ExpressionAttributeNames": {n: n[1:] for n in ("#map", "#set") if n in text},
        "ExpressionAttributeValues": {
            name: value
            for name, value in VALUES.items()
            if f"{name})" in f"{text})".replace(",", ")").replace(" ", ")")
        },
        **more,
    }


def sent(request: Request) -> Request:
    return {name: value for name, value in request.items() if value != {}}


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_holds_alike(tables: ComparedTables, text: str) -> None:
    tables.ask("put_item", {"Item": ITEM})
    request = asking(text, "ConditionExpression", Key=key_of(ItemKey("a", "b")))
    request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    tables.ask("delete_item", sent(request))
    tables.ask("delete_item", sent(request))


@pytest.mark.parametrize("text", UPDATES)
def test_an_update_makes_the_same(tables: ComparedTables, text: str) -> None:
    tables.ask("put_item", {"Item": ITEM})
    for key in (ItemKey("a", "b"), ItemKey("a", "new")):
        request = asking(text, "UpdateExpression", Key=key_of(key), ReturnValues="ALL_NEW")
        tables.ask("update_item", sent(request))


@pytest.mark.parametrize("text", NOT_SIMULATED)
def test_an_expression_that_is_not_simulated_is_named(tables: ComparedTables, text: str) -> None:
    request = asking(text, "ConditionExpression", Key=key_of(ItemKey("a", "b")))
    with pytest.raises(NotImplementedError, match="is not simulated"):
        tables.memory.delete_item(**sent(request))
    update = asking("SET n = :n", "UpdateExpression", Key=request["Key"])
    with pytest.raises(NotImplementedError, match="UPDATED_NEW is not simulated"):
        tables.memory.update_item(**sent(update), ReturnValues="UPDATED_NEW")


def test_placeholders_must_be_defined_and_used(tables: ComparedTables) -> None:
    request = {"Key": key_of(ItemKey("a", "b")), "UpdateExpression": "SET n = :n"}
    tables.ask("update_item", request)
    values = {":n": {"N": "1"}, ":unused": {"N": "1"}}
    tables.ask("update_item", {**request, "ExpressionAttributeValues": values})
    names = {"#unused": "n"}
    request["ExpressionAttributeValues"] = {":n": {"N": "1"}}
    tables.ask("update_item", {**request, "ExpressionAttributeNames": names})


def test_pages_end_and_go_on_alike(tables: ComparedTables) -> None:
    for sk in "abcdef":
        item = {
            **key_of(ItemKey("p", sk)),
            "GSI2PK": {"S": "i"},
            "GSI2SK": {"S": "x" if sk in "ace" else "y"},
        }
        tables.ask("put_item", {"Item": {**item, "n": {"N": str(ord(sk))}}})
    for index, partition in (("", "p"), ("GSI2", "i")):
        for forward in (True, False):
            for limit in (1, 2, 3, 6, 7):
                request = querying(index, partition, Limit=limit, ScanIndexForward=forward)
                for _ in range(8):
                    page = tables.ask("query", request)
                    if "LastEvaluatedKey" not in page:
                        break
                    request = {**request, "ExclusiveStartKey": page["LastEvaluatedKey"]}


def test_queries_read_bounds_filters_and_projections_alike(tables: ComparedTables) -> None:
    for sk in ("a1", "a2", "b1", "b2"):
        tables.ask("put_item", {"Item": {**key_of(ItemKey("p", sk)), "n": {"N": sk[1]}}})
    one = {":one": {"N": "1"}, ":low": {"S": "a2"}, ":high": {"S": "b1"}, ":a": {"S": "a"}}
    for bound in ("BETWEEN :low AND :high", ">= :low", "< :high", "begins :a"):
        text = f"#pk = :pk AND SK {bound}"
        if bound.startswith("begins"):
            text = "#pk = :pk AND begins_with(SK, :a)"
        values = {name: value for name, value in one.items() if name in text}
        request = querying("", "p", KeyConditionExpression=text)
        request["ExpressionAttributeValues"] |= values
        tables.ask("query", request)
        tables.ask("query", {**request, "Select": "COUNT"})
        tables.ask("query", {**request, "ProjectionExpression": "n"})
        request["ExpressionAttributeValues"] = {
            **request["ExpressionAttributeValues"],
            ":one": {"N": "1"},
        }
        tables.ask("query", {**request, "FilterExpression": "n = :one"})
    tables.ask("query", querying("GSI2", "i", ConsistentRead=True))


def test_a_transaction_is_done_whole_or_not_at_all(tables: ComparedTables) -> None:
    def adding(sk: str, condition: str | None = None) -> Request:
        update: Request = {
            "Key": key_of(ItemKey("t", sk)),
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        if condition is not None:
            update["ConditionExpression"] = condition
            update["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return {"Update": update}

    fails = adding("b", "attribute_not_exists(PK)")
    for actions in (
        [adding("a"), adding("b")],
        [adding("a"), fails],
        [adding("a"), adding("a")],
        [adding("a"), {"Delete": {"Key": key_of(ItemKey("t", "b"))}}],
    ):
        tables.ask("transact_write_items", {"TransactItems": actions})
    assert normalise(tables.item(ItemKey("t", "a"))["n"]) == ("N", 2)
    assert tables.item(ItemKey("t", "b")) is None


def test_a_condition_on_what_is_not_there_is_refused_without_an_item(
    tables: ComparedTables,
) -> None:
    slot = {**key_of(slots.build_slot_key(TALLY, "z")), "rev": {"N": "1"}}
    refused = tables.ask(*updating(slots.clear_dirty_mark(slot)))
    assert refused == ("ConditionalCheckFailedException", None, [])
    claim = Claim("5", "open", "Song", 1, NOW)
    tables.ask(*updating(claims.put_claim_update(SHARD, claim)))
    other = replace(claim, state="discarded")
    refused = tables.ask(*updating(claims.put_claim_update(SHARD, other)))
    assert refused[1]["open"] == ("N", 1)
