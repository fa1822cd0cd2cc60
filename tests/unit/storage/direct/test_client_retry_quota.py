"""The retry quota of botocore, which direct requests use up and refill too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from daicho.storage.direct.client import RETRY_QUOTA
from tests.support.direct_clients import FAILED, KEY, call, open_client, open_direct
from tests.support.stub_wire import StubWire, stub_wire


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")


@pytest.fixture
def wire() -> Iterator[StubWire]:
    with stub_wire() as stub:
        yield stub


def test_retries_of_failed_calls_use_up_botocores_quota_and_successes_refill_it(
    wire: StubWire,
) -> None:
    sent = {}
    for name, client in (("direct", open_direct(wire)), ("botocore", open_client())):
        wire.expect(*[FAILED] * 120)
        counts = []
        for _ in range(40):
            before = len(wire.sent)
            call(client, "get_item", {"TableName": "t", "Key": KEY})
            counts.append(len(wire.sent) - before)
        wire.outcomes.clear()
        for _ in range(30):
            client.get_item(TableName="t", Key=KEY)
        wire.expect(FAILED, FAILED, FAILED)
        call(client, "get_item", {"TableName": "t", "Key": KEY})
        sent[name] = [*counts, len(wire.sent)]
    assert sent["direct"] == sent["botocore"]
    assert sent["direct"][0] == 3  # attempts
    assert sent["direct"][39] == 1  # the quota is used up
    assert sent["direct"][40] == 3  # 30 successes have refilled it for two


def use_up_quota(wire: StubWire, client: Any) -> None:
    """Fail in a method that is always botocore's, until it is not repeated."""
    wire.expect(*[FAILED] * 120)
    for _ in range(40):
        call(client, "describe_table", {"TableName": "t"})
    wire.expect()


def count_attempts(wire: StubWire, client: Any) -> int:
    """The attempts of a read that fails."""
    wire.expect(FAILED, FAILED, FAILED)
    call(client, "get_item", {"TableName": "t", "Key": KEY})
    count = len(wire.sent)
    wire.expect()
    return count


def succeed(client: Any, calls: int) -> None:
    for _ in range(calls):
        client.get_item(TableName="t", Key=KEY)


def test_successes_refill_a_quota_that_other_methods_have_used_up(wire: StubWire) -> None:
    direct = open_direct(wire)
    succeed(direct, RETRY_QUOTA)
    use_up_quota(wire, direct)
    assert count_attempts(wire, direct) == 1
    succeed(direct, 30)
    assert count_attempts(wire, direct) == 3
