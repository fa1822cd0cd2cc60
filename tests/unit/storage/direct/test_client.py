"""The direct client sends, returns and raises what botocore's client does."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    HTTPClientError,
    ReadTimeoutError,
)

from daicho.storage.direct.client import DirectClient
from tests.support.direct_clients import FAILED, KEY, URL, call, open_client, open_direct
from tests.support.metric_lines import read_values
from tests.support.stub_wire import Answer, StubWire, stub_wire

ITEM = {
    **KEY,
    "n": {"N": "12345678901234567890123456789012345678"},
    "list": {"L": [{"NULL": True}, {"BOOL": False}, {"M": {"x": {"SS": ["a", "b"]}}}]},
}
WITH_BINARY = {**KEY, "data": {"B": b"\x00\xff"}, "set": {"BS": [b"a", b"b"]}}
WITH_TEXT = {**KEY, "data": {"B": "AP8="}, "set": {"BS": ["YQ==", "Yg=="]}}
CONDITION = {
    "ConditionExpression": "attribute_not_exists(PK) AND #n = :n",
    "ExpressionAttributeNames": {"#n": "n"},
    "ExpressionAttributeValues": {":n": {"N": "1"}},
    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
}
UNITS = {"TableName": "t", "CapacityUnits": 2.5}
REQUESTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("get_item", {"TableName": "t", "Key": KEY, "ConsistentRead": True}, {"Item": ITEM}),
    ("get_item", {"TableName": "t", "Key": KEY}, {"Item": WITH_TEXT}),
    ("get_item", {"TableName": "t", "Key": KEY}, {}),
    (
        "batch_get_item",
        {"RequestItems": {"t": {"Keys": [KEY], "ConsistentRead": False}}},
        {"Responses": {"t": [ITEM]}, "UnprocessedKeys": {"t": {"Keys": [KEY]}}},
    ),
    (
        "query",
        {
            "TableName": "t",
            "KeyConditionExpression": "PK = :pk",
            "ExpressionAttributeValues": {":pk": {"S": "é"}},
            "Limit": 3,
            "ScanIndexForward": False,
            "ExclusiveStartKey": KEY,
        },
        {"Items": [ITEM], "Count": 1, "ScannedCount": 2, "LastEvaluatedKey": KEY}
        | {"ConsumedCapacity": UNITS},
    ),
    ("scan", {"TableName": "t", "Segment": 0, "TotalSegments": 2}, {"Items": [], "Count": 0}),
    ("put_item", {"TableName": "t", "Item": ITEM, **CONDITION}, {"Attributes": ITEM}),
    ("put_item", {"TableName": "t", "Item": WITH_BINARY}, {}),
    (
        "update_item",
        {"TableName": "t", "Key": KEY, "UpdateExpression": "ADD n :n", "ReturnValues": "ALL_NEW"},
        {"Attributes": ITEM},
    ),
    ("delete_item", {"TableName": "t", "Key": KEY, **CONDITION}, {"Attributes": ITEM}),
    (
        "transact_write_items",
        {
            "TransactItems": [{"Put": {"TableName": "t", "Item": ITEM, **CONDITION}}],
            "ClientRequestToken": "token",
        },
        {"ConsumedCapacity": [UNITS]},
    ),
    (
        "batch_write_item",
        {"RequestItems": {"t": [{"PutRequest": {"Item": ITEM}}, {"DeleteRequest": {"Key": KEY}}]}},
        {"UnprocessedItems": {"t": [{"PutRequest": {"Item": WITH_TEXT}}]}},
    ),
    (
        "batch_execute_statement",
        {"Statements": [{"Statement": "UPDATE t SET n = ?", "Parameters": [{"N": "1"}]}]},
        {"Responses": [{"TableName": "t"}, {"Error": {"Code": "DuplicateItem", "Item": ITEM}}]},
    ),
]
NEW_EACH_TIME = {"X-Amz-Date", "Authorization", "amz-sdk-invocation-id", "Content-Length"}
OPERATIONS = {
    name
    for name, value in vars(DirectClient).items()
    if "_item" in name or name in ("query", "scan", "batch_execute_statement")
}


def build_cancellation(*reasons: dict[str, Any]) -> Answer:
    kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException"
    body = {"__type": kind, "Message": "Transaction cancelled", "CancellationReasons": reasons}
    return Answer(body, 400)


def build_refusal(item: dict[str, Any]) -> Answer:
    kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
    return Answer({"__type": kind, "message": "The conditional request failed", "Item": item}, 400)


REFUSED = build_refusal(ITEM)
CANCELED = build_cancellation(
    {"Code": "ConditionalCheckFailed", "Item": ITEM, "Message": "it failed"},
    {"Code": "None", "Item": None, "Message": None},
)
THROTTLED = Answer(
    {
        "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
        "message": "slow down",
        "throttlingReasons": [{"reason": "TableWriteKeyRangeThroughputExceeded"}],
    },
    400,
)
SKEWED = Answer({"__type": "x#RequestTimeTooSkewed", "message": "your clock"}, 400)
WRONG_CHECKSUM = Answer({"Item": ITEM}, checksum="1")
NO_JSON = Answer(b"<html>")
NO_MAPPING = Answer(b"[]")
BAD_GATEWAY = Answer(b"<html>no gateway</html>", 502)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")


@pytest.fixture
def wire() -> Iterator[StubWire]:
    with stub_wire() as stub:
        yield stub


def test_every_operation_is_compared() -> None:
    assert {method for method, *_ in REQUESTS} == OPERATIONS
    assert len(OPERATIONS) == 10


@pytest.mark.parametrize("url", [URL, None, "https://proxy.example:8443/some//path/"])
@pytest.mark.parametrize(("method", "parameters", "body"), REQUESTS)
def test_a_request_and_its_answer_are_those_of_botocore(
    method: str, parameters: dict[str, Any], body: dict[str, Any], url: str | None, wire: StubWire
) -> None:
    direct, client = open_direct(wire, url=url), open_client(url=url)
    wire.expect(Answer(body), Answer(body))
    assert call(direct, method, parameters) == call(client, method, parameters)
    ours, botocores = wire.sent
    assert (ours.url, ours.body, ours.operation) == (
        botocores.url,
        botocores.body,
        botocores.operation,
    )
    assert list(ours.headers) == list(botocores.headers)
    different = {name for name in ours.headers if ours.headers[name] != botocores.headers[name]}
    different -= {"User-Agent"}  # it lists features that the session has used so far
    assert different <= NEW_EACH_TIME


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize(
    "outcomes",
    [
        [REFUSED],
        [CANCELED],
        [THROTTLED, Answer({"Item": ITEM})],
        [THROTTLED, THROTTLED, THROTTLED],
        [FAILED, FAILED, FAILED],
        [FAILED, REFUSED],
        [BAD_GATEWAY, Answer()],
        [SKEWED],
        [WRONG_CHECKSUM, Answer({"Item": ITEM})],
        [WRONG_CHECKSUM, WRONG_CHECKSUM, WRONG_CHECKSUM],
        [NO_JSON],
        [NO_MAPPING],
        [ReadTimeoutError(endpoint_url=URL), Answer()],
        [ConnectTimeoutError(endpoint_url=URL)] * 3,
        [ConnectionClosedError(endpoint_url=URL), REFUSED],
        [HTTPClientError(error="reset"), FAILED, Answer()],
        [OSError("not repeated")],
    ],
    ids=str,
)
def test_an_outcome_is_what_botocore_makes_of_it(
    outcomes: list[Answer | Exception], attempts: int, wire: StubWire
) -> None:
    parameters = {"TableName": "t", "Item": ITEM, **CONDITION}
    results, sent = [], []
    for client in (open_direct(wire, attempts), open_client(attempts)):
        wire.expect(*outcomes)
        try:
            results.append(call(client, "put_item", parameters))
        except (OSError, AttributeError) as error:  # botocore's own for what it cannot parse
            results.append((type(error), str(error)))
        sent.append([(each.body, each.headers["amz-sdk-request"]) for each in wire.sent])
        assert len({each.headers["amz-sdk-invocation-id"] for each in wire.sent}) == 1
    assert results[0] == results[1]
    assert sent[0] == sent[1]


def build_statement_error(code: str) -> Answer:
    return Answer({"Responses": [{"TableName": "t"}, {"Error": {"Code": code}}]})


UNPROCESSED = Answer({"UnprocessedItems": {"t": [{"DeleteRequest": {"Key": KEY}}]}})
MANY_KEYS = Answer({"Responses": {"t": []}, "UnprocessedKeys": {"t": {"Keys": [KEY]}}})
THROTTLED_TRANSACTION = build_cancellation({"Code": "None"}, {"Code": "ThrottlingError"})
CONFLICT = build_cancellation({"Code": "TransactionConflict"})
QUOTED = build_refusal({**ITEM, "log": {"S": "ThrottlingException"}})


@pytest.mark.parametrize(
    ("method", "outcomes", "is_counted"),
    [
        ("put_item", [THROTTLED, Answer()], True),
        ("batch_write_item", [UNPROCESSED], True),
        ("batch_get_item", [MANY_KEYS], True),
        ("transact_write_items", [THROTTLED_TRANSACTION], True),
        ("batch_execute_statement", [build_statement_error("ThrottlingError")], True),
        ("batch_execute_statement", [build_statement_error("DuplicateItem")], False),
        ("transact_write_items", [CONFLICT], False),
        ("put_item", [QUOTED], False),
        ("put_item", [FAILED, Answer()], False),
        ("query", [Answer({"Items": [ITEM], "Count": 1})], False),
    ],
)
def test_throttled_requests_are_counted(
    method: str,
    outcomes: list[Answer],
    is_counted: bool,
    wire: StubWire,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    direct = open_direct(wire)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "api")
    wire.expect(*outcomes)
    call(direct, method, next(values for name, values, _ in REQUESTS if name == method))
    assert read_values(capsys.readouterr().out) == ({"RequestsThrottled": 1} if is_counted else {})


def test_a_long_answer_without_some_keys_is_not_throttled(
    wire: StubWire, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    direct = open_direct(wire)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "api")
    large = {"Responses": {"t": [{**KEY, "x": {"S": "x" * 8_000_000}}]}}
    wire.expect(Answer({**large, "UnprocessedKeys": {"t": {"Keys": [KEY]}}}))
    call(direct, "batch_get_item", REQUESTS[3][1])
    assert capsys.readouterr().out == ""


def test_expired_credentials_are_refreshed(wire: StubWire) -> None:
    moments = iter(range(1, 100))

    def refresh() -> dict[str, Any]:
        number = next(moments)
        expiry = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=-1 if number < 3 else 3600)
        return {
            "access_key": f"key{number}",
            "secret_key": "secret",
            "token": f"token{number}",
            "expiry_time": expiry.isoformat(),
        }

    credentials = RefreshableCredentials.create_from_metadata(refresh(), refresh, "test")
    client = open_client()
    direct = DirectClient(client, credentials)
    direct.scan(TableName="t")
    wire.expect()
    with pytest.raises(RuntimeError, match="expired"):  # botocore's own, at its own refresh
        direct.scan(TableName="t")
    direct.scan(TableName="t")
    (sent,) = wire.sent
    assert "Credential=key3/" in sent.headers["Authorization"]
    assert sent.headers["X-Amz-Security-Token"] == "token3"


def test_threads_get_their_own_answers(wire: StubWire) -> None:
    direct = open_direct(wire)
    kinds = [Answer({"Item": {"x": {"S": "fine"}}}), REFUSED, FAILED]

    def answer(request: Any) -> Any:
        number = int(json.loads(request.body)["Key"]["PK"]["S"])
        attempt = str(request.headers["amz-sdk-request"])
        kind = (
            kinds[number % 3]
            if "attempt=1" in attempt
            else Answer({"Item": {"x": {"N": str(number)}}})
        )
        return kind.render(request.url)

    wire.send = answer  # type: ignore[method-assign]

    def get(number: int) -> Any:
        return call(direct, "get_item", {"TableName": "t", "Key": {"PK": {"S": str(number)}}})

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(get, range(300)))
    for number, result in enumerate(results):
        match number % 3:
            case 0:
                assert result["Item"] == {"x": {"S": "fine"}}
            case 1:
                assert result[2]["Error"]["Code"] == "ConditionalCheckFailedException"
            case _:
                assert result["Item"] == {"x": {"N": str(number)}}
                assert result["ResponseMetadata"]["RetryAttempts"] == 1
