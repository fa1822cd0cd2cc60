"""``daicho republish``: moves events that nobody took back to their queues."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import typer
from botocore.config import Config

from daicho.runtime.retry import RetryBudget
from daicho.storage.event_queue import MAX_MESSAGES, EventMessage, EventQueue
from daicho.stream.published_events import send_in_order
from daicho_cli.aws import Stack
from daicho_cli.options import LOCAL, StackFile, Stage
from daicho_cli.terminal import INCOMPLETE, SUCCESS, CommandError, end_on_errors

MIN_AGE_S = 360.0
"""The queue forgets the id of an event after five minutes. Before, it would drop the event."""
SECONDS_PER_BATCH = 30.0
SYSTEM = ("MessageGroupId", "MessageDeduplicationId", "SentTimestamp")


def republish(stage: Stage = None, stack: StackFile = LOCAL) -> None:
    """Move events that nobody took back to their queues.

    Run the command after the cause is removed. Events keep their ids, and those of an item their
    order. An event is moved six minutes after it was set aside, at the earliest. Exit code 0: none
    is left. 1: some are left. 2: the command could not run.
    """
    with end_on_errors("republish"):
        found = Stack.find(stage, stack)
        queues = list_queues(found.resources)
        if not queues:
            raise CommandError(f"{found.name} publishes no events")
        client = found.open_client("sqs", Config(retries={"total_max_attempts": 3}))
        total = 0
        for receiver, (dead_letters, queue) in queues.items():
            moved, left = move_back(client, dead_letters, queue, time.time)
            total += left
            told = "run it again later" if left else "none is left"
            typer.echo(f"{receiver}: {moved:,} events moved; {told}")
    raise typer.Exit(INCOMPLETE if total else SUCCESS)


def list_queues(outputs: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The queue of dead letters and the queue of each receiver, by its name in the outputs."""
    suffix = "DeadLetterQueueUrl"
    prefixes = [name.removesuffix(suffix) for name in sorted(outputs) if name.endswith(suffix)]
    return {
        prefix or "bus": (outputs[prefix + suffix], outputs[f"{prefix or 'Event'}QueueUrl"])
        for prefix in prefixes
    }


def move_back(
    client: Any, dead_letters: str, queue: str, now: Callable[[], float]
) -> tuple[int, int]:
    """Move messages between two queues; returns how many were moved, and how many must wait."""
    moved = left = 0
    while True:
        answer = client.receive_message(
            QueueUrl=dead_letters,
            MaxNumberOfMessages=MAX_MESSAGES,
            MessageSystemAttributeNames=SYSTEM,
            WaitTimeSeconds=1,
        )
        received = answer.get("Messages", ())
        if not received:
            return moved, left
        messages = [_read_message(each) for each in received]
        too_young = {
            message.group
            for message, each in zip(messages, received, strict=True)
            if now() - float(each["Attributes"]["SentTimestamp"]) / 1000 < MIN_AGE_S
        }
        movable = [message for message in messages if message.group not in too_young]
        budget = RetryBudget.for_seconds(SECONDS_PER_BATCH)
        unsent = send_in_order(movable, EventQueue(client, queue).send, budget)
        for message in movable:
            if message not in unsent:
                client.delete_message(QueueUrl=dead_letters, ReceiptHandle=message.receipt)
        moved += len(movable) - len(unsent)
        left += len(messages) - len(movable) + len(unsent)


def _read_message(message: Mapping[str, Any]) -> EventMessage:
    system = message["Attributes"]
    id, group = system["MessageDeduplicationId"], system["MessageGroupId"]
    return EventMessage(id, group, message["Body"], message["ReceiptHandle"])
