"""The queue and the bus of events: the only module that talks to SQS and EventBridge.

A send is done, or not known to be done: then its caller repeats it, and the id keeps the queue from
delivering it twice within five minutes. A bus has no such memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.botocore_errors import translate_errors
from daicho.storage.sessions import build_config, open_on_first_use

MAX_MESSAGES, MAX_BYTES = 10, 256_000
"""Of one request, to SQS as to EventBridge. Both take more bytes now."""
PERMANENT_ERRORS = frozenset(
    {"InvalidArgument", "MalformedDetail", "NotAuthorizedForDetailTypeException", "ValidationError"}
)
"""The error codes of a bus about the event itself: no repeat succeeds."""


@dataclass(frozen=True)
class EventMessage:
    """An event on its way.

    ``id``: of the event. ``group``: of its item, whose events keep their order. ``body``: the event
    as JSON. ``receipt``: the id that the queue gave the message. ``receiver``: whose queue it is
    sent to: the name of a subscriber, or "" for the bus. ``attempt``: of its delivery, from 1.
    """

    id: str
    group: str
    body: str
    receipt: str = ""
    receiver: str = ""
    attempt: int = 1

    @classmethod
    def parse(cls, record: Mapping[str, Any]) -> EventMessage:
        """A record of an event that Lambda makes of messages."""
        system = record["attributes"]
        id, group = system["MessageDeduplicationId"], system["MessageGroupId"]
        attempt = int(system.get("ApproximateReceiveCount", 1))
        return cls(id, group, record["body"], record["messageId"], attempt=attempt)


class EventQueue:
    """A FIFO queue."""

    def __init__(self, client: Any, url: str) -> None:
        self._client, self._url = client, url

    def send(self, messages: Sequence[EventMessage]) -> tuple[EventMessage, ...]:
        """Send up to ten messages of different groups; returns those not known to be sent.

        Raises:
            StoreError: none is known to be sent.
        """
        entries = [
            {
                "Id": str(place),
                "MessageBody": each.body,
                "MessageGroupId": each.group,
                "MessageDeduplicationId": each.id,
            }
            for place, each in enumerate(messages)
        ]
        with translate_errors(f"send {len(messages)} events"):
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        sent = {entry["Id"] for entry in answer.get("Successful", ())}
        return tuple(each for place, each in enumerate(messages) if str(place) not in sent)


class EventBus:
    """A bus of EventBridge. ``dead_letters``: gets events that the bus never takes."""

    def __init__(self, client: Any, name: str, dead_letters: EventQueue) -> None:
        self._client, self._name, self._dead_letters = client, name, dead_letters
        self._refused = 0

    def put(self, messages: Sequence[EventMessage]) -> tuple[EventMessage, ...]:
        """Put up to ten events of different items; returns those not known to be done.

        Raises:
            StoreError: none is known to be done.
        """
        entries = [self._build_entry(each.body) for each in messages]
        with translate_errors(f"put {len(messages)} events"):
            answer = self._client.put_events(Entries=entries)
        codes = [entry.get("ErrorCode") for entry in answer["Entries"]]
        refused = [m for m, code in zip(messages, codes, strict=True) if code in PERMANENT_ERRORS]
        failed = [m for m, code in zip(messages, codes, strict=True) if code and m not in refused]
        if refused:
            kept = self._dead_letters.send(refused)
            self._refused += len(refused) - len(kept)
            failed += kept
        return tuple(failed)

    def take_refused(self) -> int:
        """The number of events that became dead letters since the last call."""
        refused, self._refused = self._refused, 0
        return refused

    def _build_entry(self, body: str) -> Mapping[str, str]:
        event = json.loads(body)
        return {
            "EventBusName": self._name,
            "Source": event["source"],
            "DetailType": event["type"],
            "Detail": body,
        }


def split_into_requests(messages: Sequence[EventMessage]) -> Iterator[tuple[EventMessage, ...]]:
    """Requests, each to one queue, of messages that are all of different groups."""
    request: list[EventMessage] = []
    size = 0
    for message in sorted(messages, key=attrgetter("receiver")):
        length = len(message.body.encode()) + 2 * len(message.id)
        is_full = len(request) == MAX_MESSAGES or size + length > MAX_BYTES
        if request and (is_full or request[0].receiver != message.receiver):
            yield tuple(request)
            request, size = [], 0
        request.append(message)
        size += length
    if request:
        yield tuple(request)


def open_event_queue(url: str) -> EventQueue:
    """A queue with a client whose attempts and timeouts are bounded; it is created on first use."""
    return EventQueue(open_on_first_use("sqs", build_config(attempts=2)), url)


def open_event_bus(name: str, dead_letters: EventQueue) -> EventBus:
    """A bus, as `open_event_queue`."""
    client = open_on_first_use("events", build_config(attempts=2))
    return EventBus(client, name, dead_letters)
