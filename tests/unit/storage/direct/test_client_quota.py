"""Botocore's retry quota is used up by retries and refilled by successes of the direct client."""

from __future__ import annotations

from threading import Thread
from typing import Any

from daicho.storage.direct.client import RETRY_QUOTA, DirectClient
from tests.support.stub_wire import StubWire
from tests.unit.storage.direct.test_client import (
    FAILED,
    KEY,
    _keys,
    call,
    open_client,
    open_direct,
    wire,
)

__all__ = ["_keys", "wire"]


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


def test_successes_refill_the_quota_of_a_client_that_was_used_before(wire: StubWire) -> None:
    client = open_client()
    use_up_quota(wire, client)
    direct = DirectClient(client, client._get_credentials())
    succeed(direct, 30)
    assert count_attempts(wire, direct) == 3


def test_successes_refill_a_quota_that_other_methods_have_used_up(wire: StubWire) -> None:
    direct = open_direct(wire)
    succeed(direct, RETRY_QUOTA)
    use_up_quota(wire, direct)
    assert count_attempts(wire, direct) == 1
    succeed(direct, 30)
    assert count_attempts(wire, direct) == 3


def test_a_success_does_not_hide_the_retry_of_another_thread(wire: StubWire) -> None:
    class InterruptedClient(DirectClient):
        """Another thread makes a retry after a reading of what is unreported."""

        value, readings, interrupts_at = 0, 0, 0

        @property
        def _unreported(self) -> int:
            value = self.value
            self.readings += 1
            if self.readings == self.interrupts_at:
                wire.expect(FAILED)
                thread.start()
                thread.join(0.3)  # it is waiting for this thread, or has ended
            return value

        @_unreported.setter
        def _unreported(self, value: int) -> None:
            self.value = value

    client = open_client()
    reported: list[None] = []
    client.meta.events.register("after-call.dynamodb", lambda **_: reported.append(None))
    direct = InterruptedClient(client, client._get_credentials())
    thread = Thread(target=succeed, args=(direct, 1))
    succeed(direct, RETRY_QUOTA)  # the first one is botocore's
    # Of the next success, the second reading is that before the subtraction.
    direct.interrupts_at = direct.readings + 2
    succeed(direct, 1)
    thread.join()
    reported.clear()
    succeed(direct, RETRY_QUOTA + 1)
    assert len(reported) == RETRY_QUOTA
