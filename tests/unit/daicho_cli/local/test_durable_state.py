"""Which requests change what is saved, how one is refused, and which records were read."""

from __future__ import annotations

import pytest

from daicho_cli.local.durable_state import find_action, is_reading, render_refusal
from daicho_cli.local.restored_state import Scope, read_positions

STREAM = "arn:aws:dynamodb:r:1:table/ledger/stream/2026-11-21T00:00:00.000"


def mapping(uuid: str, source: str = STREAM) -> tuple[Scope, dict[str, str]]:
    return ("1", "r", uuid), {"EventSourceArn": source}


def test_the_slowest_reader_of_a_stream_decides_what_is_kept() -> None:
    mappings = dict([mapping("fast"), mapping("slow"), mapping("queue", "arn:aws:sqs:r:1:jobs")])
    read = {("1", "r", "fast"): 9, ("1", "r", "slow"): 4}
    assert read_positions(mappings, read) == {STREAM: 4}
    assert read_positions(dict([*mappings.items(), mapping("new")]), read) == {STREAM: 0}


@pytest.mark.parametrize(
    ("target", "body", "action", "reads"),
    [
        ("DynamoDB_20120810.BatchGetItem", b"{}", "batchgetitem", True),
        ("DynamoDB_20120810.ExecuteStatement", b"{}", "executestatement", False),
        ("AWSCognitoIdentityProviderService.AdminCreateUser", b"", "admincreateuser", False),
        ("Logs_20140328.PutLogEvents", b"{}", "putlogevents", True),
        ("", b"Action=DescribeStacks&Version=2010-05-15", "describestacks", True),
        ("", b"Version=2010-05-15&Action=DeleteStack", "deletestack", False),
        ("", b"", "post", False),
    ],
)
def test_an_action_changes_something_or_not(
    target: str, body: bytes, action: str, reads: bool
) -> None:
    headers = {"x-amz-target": target} if target else {}
    assert find_action("POST", headers, body, {}) == action
    assert is_reading(action, "/") == reads


def test_an_invocation_saves_nothing_itself() -> None:
    assert is_reading("post", "/2015-03-31/functions/project/invocations")
    assert find_action("GET", {}, b"", {"Action": ["DeleteStack"]}) == "deletestack"


def test_a_refusal_is_in_the_language_of_the_service() -> None:
    assert (
        b"<Message>The local AWS cannot save what is written (full)"
        in render_refusal("s3", "full")[2]
    )
    status, _, body = render_refusal("dynamodb", "full")
    assert status == 503
    assert b'"message": "The local AWS cannot save what is written (full)' in body
