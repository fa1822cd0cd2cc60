"""The direct client sends, returns and raises what botocore's client does."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    HTTPClientError,
    ReadTimeoutError,
)

from daicho.storage.direct.client import TRANSACTION, DirectClient
from tests.support.stub_wire import REQUEST_ID, Answer, StubWire, stub_wire

URL = "http://localhost:8000"
KEY = {"PK": {"S": "tenant#é"}, "SK": {"S": "order"}}
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
REFUSED = Answer(
    {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
        "Item": ITEM,
    },
    400,
)
CANCELED = Answer(
    {
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": "Transaction cancelled",
        "CancellationReasons": [
            {"Code": "ConditionalCheckFailed", "Item": ITEM, "Message": "it failed"},
            {"Code": "None", "Item": None, "Message": None},
        ],
    },
    400,
)
THROTTLED = Answer(
    {
        "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
        "message": "slow down",
        "throttlingReasons": [{"reason": "TableWriteKeyRangeThroughputExceeded"}],
    },
    400,
)
FAILED = Answer({"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError"}, 500)
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


def open_client(attempts: int = 3, url: str | None = URL) -> Any:
    config = Config(
        retries={"mode": "standard", "total_max_attempts": attempts}, parameter_validation=False
    )
    session = botocore.session.get_session()
    return session.create_client(
        "dynamodb", config=config, endpoint_url=url, region_name="eu-west-1"
    )


def open_direct(wire: StubWire, attempts: int = 3, url: str | None = URL) -> DirectClient:
    """A direct client that has seen its first request."""
    client = open_client(attempts, url)
    direct = DirectClient(client, client._get_credentials())
    direct.scan(TableName="t")
    wire.expect()
    return direct


def call(client: Any, method: str, parameters: dict[str, Any]) -> Any:
    """The answer, or the error that was raised, in a form that can be compared."""
    try:
        return getattr(client, method)(**parameters)
    except ClientError as error:
        response: Any = error.response
        response["ResponseMetadata"].pop("MaxAttemptsReached", None)
        return type(error).__name__, error.operation_name, response
    except BotoCoreError as error:
        return type(error), str(error)


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


def test_a_refused_condition_is_sent_once_and_raised_with_its_item(wire: StubWire) -> None:
    direct = open_direct(wire)
    wire.expect(REFUSED)
    with pytest.raises(direct.exceptions.ConditionalCheckFailedException) as refused:
        direct.put_item(TableName="t", Item=ITEM, **CONDITION)
    assert refused.value.response["Item"] == ITEM
    assert len(wire.sent) == 1


@pytest.mark.parametrize("first", [THROTTLED, FAILED, ReadTimeoutError(endpoint_url=URL)])
def test_a_transaction_has_one_token_in_all_attempts(
    first: Answer | Exception, wire: StubWire
) -> None:
    direct = open_direct(wire)
    tokens = set()
    for _ in range(2):
        wire.expect(first, first, Answer())
        direct.transact_write_items(TransactItems=[])
        assert len(wire.sent) == 3
        (token,) = {sent.body["ClientRequestToken"] for sent in wire.sent}
        tokens.add(token)
    assert len(tokens) == 2


def test_no_other_operation_takes_a_token() -> None:
    model = open_client().meta.service_model
    taking = {
        model.operation_model(name).name
        for name in model.operation_names
        if "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_") in OPERATIONS
        and model.operation_model(name).idempotent_members
    }
    assert taking == {TRANSACTION}


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


def test_credentials_that_cannot_be_read_raise_botocores_error(wire: StubWire) -> None:
    class Broken:
        def get_frozen_credentials(self) -> Any:
            raise CredentialRetrievalError(provider="test", error_msg="no answer")

    direct = DirectClient(open_client(), Broken())
    direct.scan(TableName="t")
    with pytest.raises(CredentialRetrievalError):
        direct.scan(TableName="t")


def test_a_client_can_be_copied(wire: StubWire) -> None:
    direct = open_direct(wire)
    assert copy(direct).get_item(TableName="t", Key=KEY).get("Item") is None
    unset = DirectClient.__new__(DirectClient)
    assert not hasattr(unset, "meta")


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


def test_hooks_that_answer_keep_the_client_of_botocore(wire: StubWire) -> None:
    """As the hooks of moto do, which are in each client of a session."""
    client = open_client()
    seen = []

    def respond(request: Any, **_: Any) -> Any:
        seen.append(request)
        return Answer({"Item": ITEM}).render(request.url)

    client.meta.events.register("before-send.dynamodb", respond)
    direct = DirectClient(client, client._get_credentials())
    for _ in range(3):
        assert direct.get_item(TableName="t", Key=KEY)["Item"] == ITEM
    assert len(seen) == 3
    assert wire.sent == []


def test_other_methods_are_those_of_the_client_and_answers_name_their_request(
    wire: StubWire,
) -> None:
    direct = open_direct(wire)
    wire.expect(Answer({"Table": {"TableName": "t"}}), Answer())
    assert direct.describe_table(TableName="t")["Table"] == {"TableName": "t"}
    assert direct.meta.region_name == "eu-west-1"
    metadata = direct.scan(TableName="t")["ResponseMetadata"]
    assert (metadata["RequestId"], metadata["HTTPStatusCode"]) == (REQUEST_ID, 200)
    direct.close()
