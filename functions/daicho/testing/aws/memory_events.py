"""A FIFO queue of SQS, the mapping of a function on it, and a bus of EventBridge, in memory.

Sources: "Exactly-once processing in Amazon SQS", "Using the Amazon SQS message group ID" and "How
Lambda processes records from Amazon SQS event source mappings", AWS documentation.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

DEDUPLICATION = dt.timedelta(minutes=5)
VISIBILITY_TIMEOUT = dt.timedelta(seconds=120)
"""Of the queue of the stack."""
MAX_BATCH = 10


@dataclass
class _Message:
    id: str
    group: str
    deduplication_id: str
    body: str
    visible_at: dt.datetime
    attempts: int = 0


@dataclass
class MemoryQueue:
    """A FIFO queue: botocore's client for it, and what Lambda does with its messages.

    ``accepted``: the bodies of all messages that it has taken, in order, without repeats that it
    has recognised.
    """

    now: Callable[[], dt.datetime]
    accepted: list[dict[str, Any]] = field(default_factory=list)
    messages: list[_Message] = field(default_factory=list)
    visibility: dt.timedelta = VISIBILITY_TIMEOUT
    _recent: dict[str, dt.datetime] = field(default_factory=dict)

    def send_message_batch(self, **request: Any) -> dict[str, Any]:
        """SendMessageBatch. A message whose id came in the last five minutes is forgotten."""
        for entry in request["Entries"]:
            id, now = entry["MessageDeduplicationId"], self.now()
            if id in self._recent and now - self._recent[id] < DEDUPLICATION:
                continue
            self._recent[id] = now
            self.accepted.append(json.loads(entry["MessageBody"]))
            name = f"message {len(self.accepted)}"
            group, body = entry["MessageGroupId"], entry["MessageBody"]
            self.messages.append(_Message(name, group, id, body, now))
        return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]]}

    def receive(self, most: int = MAX_BATCH) -> dict[str, Any] | None:
        """The event of the next invocation; None if no message is visible.

        A group with a message that is in flight waits.
        """
        now, locked, received = self.now(), set[str](), list[_Message]()
        for message in self.messages:
            if message.visible_at > now:
                locked.add(message.group)
            elif message.group not in locked and len(received) < most:
                received.append(message)
        for message in received:
            message.visible_at = now + self.visibility
            message.attempts += 1
        return {"Records": [*map(_build_record, received)]} if received else None

    def settle(self, event: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Remove the messages of an invocation that its answer does not report."""
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        done = {record["messageId"] for record in event["Records"]} - failed
        self.messages = [message for message in self.messages if message.id not in done]


@dataclass
class MemoryBus:
    """Botocore's client of a bus. ``events``: all that it has taken, in order."""

    events: list[dict[str, Any]] = field(default_factory=list)

    def put_events(self, **request: Any) -> dict[str, Any]:
        """PutEvents."""
        self.events += [json.loads(entry["Detail"]) for entry in request["Entries"]]
        return {"FailedEntryCount": 0, "Entries": [{"EventId": "x"} for _ in request["Entries"]]}


def _build_record(message: _Message) -> dict[str, Any]:
    return {
        "messageId": message.id,
        "body": message.body,
        "attributes": {
            "MessageGroupId": message.group,
            "MessageDeduplicationId": message.deduplication_id,
            "ApproximateReceiveCount": str(message.attempts),
        },
    }
