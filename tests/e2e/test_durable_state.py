"""The local AWS alone: what was acknowledged survives a kill, and what is not saved is refused."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import signal
import sqlite3
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from daicho_cli.local import server
from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.journal import FILE
from daicho_cli.local.ttl_process import delete_expired
from tests.e2e.api import eventually, kill
from tests.support.dynoxide import free_port
from tests.support.repository import PROJECT
from tests.support.trials import IS_TRIAL

ONCE = Config(retries={"total_max_attempts": 1})
TABLE: dict[str, Any] = {
    "TableName": "things",
    "KeySchema": [
        {"AttributeName": "PK", "KeyType": "HASH"},
        {"AttributeName": "SK", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "PK", "AttributeType": "S"},
        {"AttributeName": "SK", "AttributeType": "S"},
        {"AttributeName": "HK", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-H",
            "KeySchema": [
                {"AttributeName": "HK", "KeyType": "HASH"},
                {"AttributeName": "SK", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
KEY = {"PK": {"S": "a"}, "SK": {"S": "b"}}
SLOW = """
import os, pathlib, time

def handle(event, context):
    started = pathlib.Path(event["started"])
    is_first = not started.exists()
    started.with_suffix(".new").write_text(str(os.getpid()))
    started.with_suffix(".new").replace(started)
    time.sleep(60 if is_first else 0)
    pathlib.Path(event["ended"]).touch()
"""
KILLS = 50 if IS_TRIAL else 3
INSERT = "INSERT INTO things VALUE {'PK': 'a', 'SK': ?}"


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[LocalInstance]:
    """A local AWS with a table and nothing else."""
    instance = LocalInstance(tmp_path, free_port(), PROJECT)
    server.start(instance)
    open_client(instance, "dynamodb").create_table(**TABLE)
    yield instance
    server.abandon(instance)


def open_client(instance: LocalInstance, name: Any) -> Any:
    session = boto3.Session("test", "test", region_name=REGION)
    return session.client(name, endpoint_url=instance.endpoint, config=ONCE)


def test_a_kill_loses_nothing_of_any_service(alone: LocalInstance) -> None:
    dynamodb, s3 = open_client(alone, "dynamodb"), open_client(alone, "s3")
    machines, cognito = open_client(alone, "stepfunctions"), open_client(alone, "cognito-idp")
    add = {
        "Update": {
            "TableName": "things",
            "Key": KEY,
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }
    dynamodb.transact_write_items(TransactItems=[add], ClientRequestToken="once")
    for name in "cd":
        dynamodb.put_item(TableName="things", Item={"PK": {"S": "a"}, "SK": {"S": name}})
    dynamodb.delete_item(TableName="things", Key={"PK": {"S": "a"}, "SK": {"S": "c"}})
    dynamodb.execute_statement(Statement=INSERT, Parameters=[{"S": "e"}])
    with pytest.raises(ClientError, match="TransactionCanceled"):
        statements = [{"Statement": INSERT, "Parameters": [{"S": name}]} for name in "fe"]
        dynamodb.execute_transaction(TransactStatements=statements)
    s3.create_bucket(Bucket="papers")
    s3.put_bucket_versioning(Bucket="papers", VersioningConfiguration={"Status": "Enabled"})
    for body in ("one", "two"):
        s3.put_object(Bucket="papers", Key="a/b", Body=body, Tagging="n=1")
    s3.put_object(Bucket="papers", Key="gone", Body="x")
    s3.delete_object(Bucket="papers", Key="gone")
    pool = cognito.create_user_pool(PoolName="people")["UserPool"]["Id"]
    cognito.admin_create_user(UserPoolId=pool, Username="ann")
    machine = machines.create_state_machine(
        name="waiting",
        definition='{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 2, "End": true}}}',
        roleArn="arn:aws:iam::000000000000:role/r",
    )["stateMachineArn"]
    execution = machines.start_execution(stateMachineArn=machine)["executionArn"]
    kill(alone)
    server.start(alone)
    assert server.read_health(alone)["found"].startswith("3 items, 0 undelivered")
    dynamodb.transact_write_items(TransactItems=[add], ClientRequestToken="once")
    dynamodb.put_item(TableName="things", Item={**KEY, "SK": {"S": "old"}, "ttl": {"N": "5"}})
    assert delete_expired(dynamodb, "things", now=6) == 1
    items = dynamodb.scan(TableName="things")["Items"]
    assert {item["SK"]["S"]: item.get("n", {}).get("N") for item in items} == {
        "b": "1",
        "d": None,
        "e": None,
    }
    versions = s3.list_object_versions(Bucket="papers")
    bodies = [
        s3.get_object(Bucket="papers", Key="a/b", VersionId=version["VersionId"])["Body"].read()
        for version in versions["Versions"]
        if version["Key"] == "a/b"
    ]
    assert sorted(bodies) == [b"one", b"two"]
    assert [marker["Key"] for marker in versions["DeleteMarkers"]] == ["gone"]
    assert s3.get_object_tagging(Bucket="papers", Key="a/b")["TagSet"]
    assert cognito.admin_get_user(UserPoolId=pool, Username="ann")["Username"] == "ann"
    done = eventually(
        lambda: machines.describe_execution(executionArn=execution)["status"],
        lambda status: status != "RUNNING",
    )
    assert done == "SUCCEEDED"


def test_a_kill_loses_no_message(alone: LocalInstance) -> None:
    sqs = open_client(alone, "sqs")
    url = sqs.create_queue(QueueName="letters.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    for name in "dbac":
        letter = {"MessageBody": name, "MessageGroupId": "g", "MessageDeduplicationId": name}
        sqs.send_message(QueueUrl=url, **letter)
    read, _ = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2)["Messages"]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=read["ReceiptHandle"])
    kill(alone)
    server.start(alone)
    letter = {"MessageBody": "e", "MessageGroupId": "g", "MessageDeduplicationId": "e"}
    number = sqs.send_message(QueueUrl=url, **letter)["SequenceNumber"]
    assert int(number) == 5
    letters = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [letter["Body"] for letter in letters] == ["b", "a", "c", "e"]
    handles = [*(letter["ReceiptHandle"] for letter in letters[:3]), "unknown"]
    entries = [{"Id": f"{n}", "ReceiptHandle": handle} for n, handle in enumerate(handles)]
    answer = sqs.delete_message_batch(QueueUrl=url, Entries=entries)
    assert [entry["Id"] for entry in answer["Successful"]] == ["0", "1", "2"]
    assert [entry["Id"] for entry in answer["Failed"]] == ["3"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert attributes["ApproximateNumberOfMessagesNotVisible"] == "1"


def write_until(stop: threading.Event, write: Callable[[int], Any], made: list[int]) -> None:
    """Make numbered writes, each again until it is acknowledged."""
    while not stop.is_set():
        with contextlib.suppress(ClientError, BotoCoreError):
            write(len(made) + 1)
            made.append(len(made) + 1)


def list_stream_inserts(instance: LocalInstance) -> list[str]:
    """The sort keys of all items that the stream says were inserted."""
    streams = open_client(instance, "dynamodbstreams")
    arn = streams.list_streams(TableName="things")["Streams"][0]["StreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    at = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator, keys = streams.get_shard_iterator(**at)["ShardIterator"], list[str]()
    while iterator and (page := streams.get_records(ShardIterator=iterator))["Records"]:
        iterator = page.get("NextShardIterator")
        changes = [record for record in page["Records"] if record["eventName"] == "INSERT"]
        keys += [record["dynamodb"]["Keys"]["SK"]["S"] for record in changes]
    return keys


def test_kills_at_any_moment_lose_nothing(alone: LocalInstance) -> None:
    """50 kills as a trial; it is never stopped between them."""
    dynamodb, s3 = open_client(alone, "dynamodb"), open_client(alone, "s3")
    cognito = open_client(alone, "cognito-idp")
    s3.create_bucket(Bucket="papers")
    pool = cognito.create_user_pool(PoolName="people")["UserPool"]["Id"]
    add: dict[str, Any] = {
        "TableName": "things",
        "Key": KEY,
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }

    def create_user(number: int) -> None:
        with contextlib.suppress(cognito.exceptions.UsernameExistsException):
            cognito.admin_create_user(UserPoolId=pool, Username=f"{number}")

    writes: list[Callable[[int], Any]] = [
        lambda n: dynamodb.put_item(TableName="things", Item={**KEY, "SK": {"S": f"{n}"}}),
        lambda n: s3.put_object(Bucket="papers", Key=f"{n}", Body=f"{n}" * 1000),
        lambda n: dynamodb.transact_write_items(
            TransactItems=[{"Update": add}], ClientRequestToken=f"add-{n}"
        ),
        create_user,
    ]
    stop, chance = threading.Event(), random.Random(51)
    made: list[list[int]] = [[] for _ in writes]
    clients = [
        threading.Thread(target=write_until, args=(stop, *each))
        for each in zip(writes, made, strict=True)
    ]
    for thread in clients:
        thread.start()
    try:
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.1, 1.5))
            kill(alone)
            server.start(alone)
    finally:
        stop.set()
        for thread in clients:
            thread.join()
    items, objects, additions, users = made
    stored = {
        item["SK"]["S"]: item
        for page in dynamodb.get_paginator("scan").paginate(TableName="things")
        for item in page["Items"]
    }
    inserts = list_stream_inserts(alone)
    assert sorted(inserts) == sorted(stored)
    assert stored.keys() >= {f"{n}" for n in items}
    assert int(stored["b"]["n"]["N"]) - len(additions) in (0, 1)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="papers")
    assert {one["Key"] for page in pages for one in page["Contents"]} >= {f"{n}" for n in objects}
    accounts = cognito.get_paginator("list_users").paginate(UserPoolId=pool)
    names = {user["Username"] for page in accounts for user in page["Users"]}
    assert names >= {f"{n}" for n in users}
    assert min(map(len, made)) > KILLS


def test_an_asynchronous_invocation_that_was_accepted_ends(
    alone: LocalInstance, tmp_path: Path
) -> None:
    functions, code = open_client(alone, "lambda"), io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("slow.py", SLOW)
    functions.create_function(
        FunctionName="slow",
        Runtime="python3.12",
        Handler="slow.handle",
        Role="arn:aws:iam::000000000000:role/r",
        Code={"ZipFile": code.getvalue()},
    )
    ended, event = tmp_path / "ended", {"started": str(tmp_path / "started")}
    event["ended"] = str(ended)
    functions.invoke(
        FunctionName="slow", InvocationType="Event", Payload=json.dumps(event).encode()
    )
    # The process of the function ends with it.
    started = eventually(lambda: list(tmp_path.glob("started")), bool)
    kill(alone)
    os.kill(int(started[0].read_text("ascii")), signal.SIGKILL)
    assert not ended.exists()
    server.start(alone)
    assert "; 1 invocations and" in server.read_health(alone)["found"]
    assert eventually(ended.exists, bool)
    assert server.stop(alone)
    server.start(alone)
    assert "; 0 invocations and" in server.read_health(alone)["found"]


def test_a_start_restores_every_service_or_fails(alone: LocalInstance) -> None:
    parameters = open_client(alone, "ssm")
    parameters.put_parameter(Name="kept", Value="1", Type="String")
    # It loads a part of a service that takes no requests itself.
    open_client(alone, "lambda").list_functions()
    assert server.stop(alone)
    server.start(alone)
    assert parameters.get_parameter(Name="kept")["Parameter"]["Value"] == "1"
    kill(alone)
    file = alone.data / "state" / FILE
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as journal:
        journal.execute("UPDATE service SET state = '{' WHERE name = 'ssm'")
    with pytest.raises(LocalError, match=r"(?s)ended at its start.*JSONDecodeError"):
        server.start(alone)
    assert server.find_program(alone).pid is None


def test_what_cannot_be_saved_is_refused_and_said(alone: LocalInstance) -> None:
    dynamodb, s3 = open_client(alone, "dynamodb"), open_client(alone, "s3")
    s3.create_bucket(Bucket="papers")
    dynamodb.put_item(TableName="things", Item={**KEY, "n": {"N": "1"}})
    pid = server.find_program(alone).pid
    assert pid
    log = alone.data / "state" / f"{FILE}-wal"
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    # As a disk that is full: the kernel accepts no byte more.
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
    for _ in range(2):
        with pytest.raises(ClientError, match="cannot save what is written"):
            dynamodb.put_item(TableName="things", Item={**KEY, "n": {"N": "2"}})
    with pytest.raises(ClientError, match="cannot save what is written"):
        s3.put_object(Bucket="papers", Key="a", Body="x")
    assert dynamodb.get_item(TableName="things", Key=KEY)["Item"]
    with pytest.raises(LocalError, match=r"changes are not saved .* still runs; make room"):
        server.stop(alone)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
    eventually(lambda: server.read_health(alone)["why"], lambda why: not why)
    dynamodb.put_item(TableName="things", Item={**KEY, "n": {"N": "3"}})
    assert server.stop(alone)
    server.start(alone)
    assert dynamodb.get_item(TableName="things", Key=KEY)["Item"]["n"] == {"N": "3"}


def test_a_connection_is_refused_while_too_many_files_are_open(alone: LocalInstance) -> None:
    kept = open_client(alone, "dynamodb")
    kept.put_item(TableName="things", Item=KEY)
    pid = server.find_program(alone).pid
    assert pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (files, hard))
    for _ in range(2):
        with pytest.raises(ClientError, match="too many open files"):
            open_client(alone, "dynamodb").put_item(TableName="things", Item=KEY)
    kept.put_item(TableName="things", Item={**KEY, "n": {"N": "1"}})
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert open_client(alone, "dynamodb").get_item(TableName="things", Key=KEY)["Item"]["n"]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (files, hard))
    assert server.stop(alone)
    server.start(alone)
    assert server.read_health(alone)["found"].startswith("1 items")


BOUNDS: dict[str, tuple[dict[str, str], Callable[[str], bool]]] = {
    "": ({}, lambda _: True),
    " AND begins_with(#sk, :prefix)": ({":prefix": "2"}, lambda sk: sk.startswith("2")),
    " AND #sk BETWEEN :low AND :high": (
        {":low": "15", ":high": "30"},
        lambda sk: "15" <= sk <= "30",
    ),
    " AND #sk >= :low": ({":low": "44"}, lambda sk: sk >= "44"),
    " AND #sk <= :high": ({":high": "30"}, lambda sk: sk <= "30"),
    " AND #sk < :below": ({":below": "30"}, lambda sk: sk < "30"),
}


@pytest.mark.parametrize("index", ["", "by-H"])
def test_a_query_of_a_long_partition_reads_it_in_order(alone: LocalInstance, index: str) -> None:
    dynamodb = open_client(alone, "dynamodb")
    name = "HK" if index else "PK"

    def name_key(sk: str, partition: str) -> dict[str, dict[str, str]]:
        pk = f"{partition}{int(sk) % 7}" if index else partition
        return {"PK": {"S": pk}, "SK": {"S": sk}}

    def put(sk: str, partition: str) -> None:
        item = {**name_key(sk, partition), "HK": {"S": partition}}
        dynamodb.put_item(TableName="things", Item=item)

    def read(condition: str, *, is_forward: bool) -> list[str]:
        values = {":pk": "a", **BOUNDS[condition][0]}
        pages = dynamodb.get_paginator("query").paginate(
            TableName="things",
            KeyConditionExpression=f"#pk = :pk{condition}",
            ExpressionAttributeNames={"#pk": name, **({"#sk": "SK"} if condition else {})},
            ExpressionAttributeValues={key: {"S": value} for key, value in values.items()},
            ScanIndexForward=is_forward,
            PaginationConfig={"PageSize": 7},
            **({"IndexName": index} if index else {}),
        )
        return [item["SK"]["S"] for page in pages for item in page["Items"]]

    def check() -> None:
        for condition, (_, holds) in BOUNDS.items():
            expected = [sk for sk in sorted(stored) if holds(sk)]
            assert read(condition, is_forward=True) == expected
            assert read(condition, is_forward=False) == expected[::-1]

    stored = {f"{number:02}" for number in range(10, 60)}
    for sk in stored:
        put(sk, "a")
        put(sk, "b")
    check()
    for sk in ("15", "30", "59"):
        dynamodb.delete_item(TableName="things", Key=name_key(sk, "a"))
        stored.remove(sk)
    for sk in ("15", "20", "99"):
        put(sk, "a")
        stored.add(sk)
    if index:  # it leaves the partition of the index
        moved = {**name_key("22", "a"), "HK": {"S": "b"}}
        dynamodb.put_item(TableName="things", Item=moved)
        stored.remove("22")
    check()
    wrong: Any = {
        "TableName": "things",
        "IndexName": "absent",
        "KeyConditionExpression": "#pk = :pk",
    }
    with pytest.raises(ClientError, match="ValidationException"):
        dynamodb.query(**wrong, ExpressionAttributeValues={":pk": {"S": "a"}})
