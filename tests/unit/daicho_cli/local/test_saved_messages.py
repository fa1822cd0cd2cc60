"""What MiniStack does to a queue becomes rows, and no message is lost between two threads."""

from __future__ import annotations

import json
import time
from typing import Any

from daicho_cli.local.saved_messages import DELETE_MESSAGES, DELETE_QUEUE, PUT_MESSAGE, Queue

ARN = "arn:aws:sqs:r:1:letters.fifo"


def make_queue(written: list[Any]) -> Queue:
    content = {"attributes": {"QueueArn": ARN}, "messages": [], "dedup_cache": {}, "fifo_seq": 0}
    return Queue(content, json.dumps, lambda *changes: written.extend(changes))


def make_message(id: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "receive_count": 0, "sent_at": time.time(), **more}


def list_ids(queue: Queue) -> list[str]:
    return [message["id"] for message in queue["messages"]]


def test_each_message_is_a_row_until_it_is_done() -> None:
    written: list[Any] = []
    queue = make_queue(written)
    messages = [make_message("a"), make_message("b", receive_count=1), make_message("c")]
    for message in messages:
        queue["messages"].append(message)
    assert written == [(PUT_MESSAGE, (ARN, each["id"], json.dumps(each))) for each in messages]
    written.clear()
    queue["messages"] = [messages[0], messages[2]]
    queue["messages"].remove(messages[0])
    queue["messages"].clear()
    assert written == [
        (DELETE_MESSAGES, (ARN, '["b"]')),
        (DELETE_MESSAGES, (ARN, '["a"]')),
        (DELETE_QUEUE, (ARN,)),
    ]
    assert list_ids(queue) == []


def test_a_message_that_is_sent_while_others_are_removed_stays_unless_it_is_too_old() -> None:
    queue = make_queue([])
    queue["messages"].append(make_message("too old", sent_at=time.time() - 3600))
    for id in "ab":
        queue["messages"].append(make_message(id, receive_count=1))
    # MiniStack copies those that stay, then replaces the list: another thread sends meanwhile.
    kept = [message for message in queue["messages"] if message["id"] != "a"]
    queue["messages"].append(make_message("sent meanwhile"))
    queue["messages"] = kept[:0]
    assert list_ids(queue) == ["sent meanwhile"]


def test_a_send_is_forgotten_after_five_minutes() -> None:
    queue, now = make_queue([]), time.time()
    for id, expire in (("old", now - 1), ("new", now + 100)):
        queue["dedup_cache"][id] = {"expire": expire}
    queue["dedup_cache"].forget_expired()
    assert list(queue["dedup_cache"]) == ["new"]
    queue["fifo_seq"] += 1
    assert queue["fifo_seq"] == 1
