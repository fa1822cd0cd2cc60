"""Messages of records, their order, and what is repeated after a failure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from daicho.errors import UnavailableError
from daicho.handlers import publish
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.plan import EntityPlan, Generation, KeyPlan, Ledger
from daicho.plan.events import EventPlan
from daicho.runtime.retry import RetryBudget
from daicho.storage.event_queue import (
    MAX_BYTES,
    EventBus,
    EventMessage,
    EventQueue,
    split_into_requests,
)
from daicho.stream.published_events import build_messages, send_in_order
from daicho.stream.records import Batch
from daicho.testing.aws.memory_events import MemoryBus, MemoryQueue
from daicho.testing.clock import SimulatedClock

EVENT = EventPlan("made", 3, "created", {"name": "str"})
LEDGER = Ledger(
    {"Shop": (Generation(1, EntityPlan("Shop", {}, KeyPlan(("town", "id"), ()))),)},
    "Trade",
    events={"Shop": (EVENT,)},
)
ONCE = RetryBudget.for_seconds(3_600)


def build_record(**values: Any) -> Any:
    image = {"type": {"S": "Shop"}, "version": {"N": "1"}, "town": {"S": "a/b"}, "id": {"S": "7"}}
    image |= {name: {"S": value} for name, value in values.items()}
    change = {
        "Keys": {"PK": {"S": "acme#Shop#a/b#7"}, "SK": {"S": "-"}},
        "NewImage": image,
        "SequenceNumber": "42",
        "ApproximateCreationDateTime": 1_790_000_000,
    }
    arn = "arn:aws:dynamodb:us-east-1:1:table/t/stream/2026-11-21T00:00:00.000"
    raw = {"eventName": "INSERT", "eventSourceARN": arn, "dynamodb": change}
    return Batch.parse({"shardId": "shard", "Records": [raw]}).records[0]


def test_an_event_is_a_cloud_event() -> None:
    (message,) = build_messages(build_record(name="x"), LEDGER, "prod")
    body = json.loads(message.body)
    assert body.pop("id") == message.id
    assert body == {
        "specversion": "1.0",
        "source": "/Trade/prod",
        "type": "trade.shop.made.v3",
        "subject": "a%2Fb/7",
        "time": "2026-09-21T14:13:20.000000Z",
        "datacontenttype": "application/json",
        "sequence": "2026-11-21T00:00:00.000#" + "42".zfill(40),
        "tenant": "acme",
        "version": 1,
        "data": {"old": None, "new": {"name": "x"}},
    }
    assert max(len(message.id), len(message.group)) <= 128
    assert build_messages(build_record(name="x"), LEDGER, "prod") == [message]


def test_an_image_that_is_too_large_is_left_out_and_the_event_is_sent() -> None:
    (message,) = build_messages(build_record(name="x" * 130_000), LEDGER, "prod")
    body = json.loads(message.body)
    assert (body["data"], body["omitted"]) == ({"old": None, "new": None}, "new")


def test_a_request_has_ten_messages_and_not_too_many_bytes() -> None:
    large = [EventMessage(str(n), str(n), "x" * 100_000) for n in range(5)]
    small = [EventMessage(str(n), str(n), "x") for n in range(25)]
    assert [len(each) for each in split_into_requests(large)] == [2, 2, 1]
    assert [len(each) for each in split_into_requests(small)] == [10, 10, 5]
    assert all(sum(len(m.body) for m in each) < MAX_BYTES for each in split_into_requests(large))


def build_messages_of(*groups: str) -> list[EventMessage]:
    return [EventMessage(f"{group}{place}", group, "{}") for place, group in enumerate(groups)]


def test_a_group_waits_for_its_failed_message_and_others_do_not() -> None:
    attempts: list[tuple[str, ...]] = []

    def send(request: Sequence[EventMessage]) -> Sequence[EventMessage]:
        attempts.append(tuple(each.id for each in request))
        first_round = len(attempts) <= 2
        return [each for each in request if each.id == "a0" and first_round]

    left = send_in_order(build_messages_of("a", "b", "a", "b", "b"), send, ONCE)
    assert left == ()
    assert attempts == [("a0", "b1"), ("b3",), ("b4",), ("a0",), ("a2",)]


def test_what_is_left_is_in_order_when_the_time_is_up() -> None:
    def refuse(_request: Sequence[EventMessage]) -> Sequence[EventMessage]:
        raise UnavailableError("down")

    messages = build_messages_of("a", "a", "b")
    left = send_in_order(messages, refuse, RetryBudget(lambda: 0.0, reserve=0))
    assert {each.group: each.id for each in reversed(left)} == {"a": "a0", "b": "b2"}
    assert len(left) == 3


class RefusingBus(MemoryBus):
    """Refuses events by their type: for good, or this time."""

    def put_events(self, **request: Any) -> dict[str, Any]:
        codes = {"bad": "MalformedDetail", "slow": "ThrottlingException"}
        kinds = [codes.get(entry["DetailType"]) for entry in request["Entries"]]
        taken = [e for e, code in zip(request["Entries"], kinds, strict=True) if not code]
        super().put_events(Entries=taken)
        return {"Entries": [{"ErrorCode": code} if code else {} for code in kinds]}


def test_what_a_bus_never_takes_is_a_dead_letter_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = SimulatedClock()
    queue, dead, bus = MemoryQueue(clock.now), MemoryQueue(clock.now), RefusingBus()
    events = [("a", "good"), ("a", "bad"), ("a", "good"), ("b", "slow"), ("b", "good")]
    EventQueue(queue, "q")  # the same client
    for place, (group, kind) in enumerate(events):
        body = json.dumps({"source": "/s", "type": kind, "place": place})
        entry = {"Id": "0", "MessageBody": body, "MessageGroupId": group}
        queue.send_message_batch(Entries=[{**entry, "MessageDeduplicationId": str(place)}])
    handler = publish.build(
        {
            **{"TABLE_NAME": "t", "STAGE": "prod"},
            **{"EVENT_BUS": "bus", "DEAD_LETTER_QUEUE": "dead"},
        },
        None,
        Dependencies(
            event_queue=lambda url: EventQueue(dead, url),
            event_bus=lambda name, letters: EventBus(bus, name, letters),
            sleep=clock.advance,
        ),
    )

    class Context:
        def get_remaining_time_in_millis(self) -> int:
            return 20_000 - int((clock.now() - start).total_seconds() * 1000)

    start, event = clock.now(), queue.receive() or {}
    answer = handler(event, Context())
    assert [each["place"] for each in bus.events] == [0, 2]
    assert [each["place"] for each in dead.accepted] == [1]
    assert (dead.messages[0].group, dead.messages[0].deduplication_id) == ("a", "1")
    assert len(answer["batchItemFailures"]) == 2
    queue.settle(event, answer)
    assert [json.loads(each.body)["place"] for each in queue.messages] == [3, 4]
    assert '"EventsRefused": 1' in capsys.readouterr().out
