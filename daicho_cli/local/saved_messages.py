"""The messages of SQS as rows of the journal; sending one takes as long however many wait.

MiniStack's state of SQS is saved as a whole, with all messages. At each send it copies all ids of
the last five minutes, and it replaces the list of messages while another thread may append to it:
that message would be lost. After a kill, ids that were sent before it are not recognized.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from daicho_cli.local.restored_state import MiniStack

PUT_MESSAGE = "REPLACE INTO message VALUES (?, ?, ?)"
DELETE_MESSAGES = "DELETE FROM message WHERE queue = ? AND id IN (SELECT value FROM json_each(?))"
DELETE_QUEUE = "DELETE FROM message WHERE queue = ?"
MESSAGE_ACTIONS = ("sendmessage", "receivemessage", "deletemessage", "changemessage", "purgequeue")
"""The beginnings of the names of actions that change messages only."""
SECONDS_OF_A_PASS = 60
"""A message that is younger and was never received is one that MiniStack's pass has not seen."""
INVALID_HANDLE = {
    "Code": "ReceiptHandleIsInvalid",
    "Message": "The input receipt handle is invalid.",
    "SenderFault": True,
}
Add = Callable[..., None]


class Messages(list[Any]):
    """The messages of a queue in their order. ``queue``: its ARN.

    ``save`` adds the fields that a message lacks, and returns it as text.
    """

    def __init__(self, queue: str, save: Callable[[Any], str], add: Add) -> None:
        super().__init__()
        self._queue, self._save, self._add = queue, save, add

    def append(self, message: Any) -> None:
        """Add a message that was sent."""
        text = self._save(message)
        super().append(message)
        self._add((PUT_MESSAGE, (self._queue, message["id"], text)))

    def remove(self, message: Any) -> None:
        """Remove a message that is done."""
        self.remove_all([message])

    def clear(self) -> None:
        """Remove all messages."""
        super().clear()
        self._add((DELETE_QUEUE, (self._queue,)))

    def keep(self, kept: Iterable[Any]) -> None:
        """Remove all others but those that were sent meanwhile."""
        ids = {message["id"] for message in kept}
        oldest = time.time() - SECONDS_OF_A_PASS
        self.remove_all(
            message
            for message in list(self)
            if message["id"] not in ids
            and (message["receive_count"] or message["sent_at"] < oldest)
        )

    def remove_all(self, messages: Iterable[Any]) -> None:
        """Remove messages that are done, with one change of the journal."""
        ids = []
        for message in messages:
            ids.append(message["id"])
            with suppress(ValueError):  # another thread has removed it
                super().remove(message)
        self._add((DELETE_MESSAGES, (self._queue, json.dumps(ids))))


class Sends(dict[str, Any]):
    """What was sent to a FIFO queue in the last five minutes, by id, in the order of its time."""

    def forget_expired(self) -> None:
        """Remove what is older than five minutes."""
        now = time.time()
        while self and self[id := next(iter(self))]["expire"] <= now:
            del self[id]


class Queue(dict[str, Any]):
    """MiniStack's queue. What it holds at first is saved too."""

    def __init__(self, content: dict[str, Any], save: Callable[[Any], str], add: Add) -> None:
        super().__init__(content)
        arn = content["attributes"]["QueueArn"]
        messages = Messages(arn, save, add)
        for message in content["messages"]:
            messages.append(message)
        super().__setitem__("messages", messages)
        super().__setitem__("dedup_cache", Sends(content["dedup_cache"]))

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "messages":
            if len(value) < len(self[name]):
                self[name].keep(value)
        else:
            super().__setitem__(name, value)


class SavedMessages:
    """MiniStack's module of SQS, whose queues are `Queue`. ``query`` reads rows of the journal."""

    def __init__(self, ministack: MiniStack, add: Add, query: Callable[..., Any]) -> None:
        self._sqs = sqs = ministack.queues
        self._render, self._parse = ministack.render, ministack.parse
        self._complete = sqs._ensure_msg_fields
        self._add, self._query = add, query
        self._load_queues, self._scoped = sqs.load_persisted_state, type(sqs._queues)
        add_queue = self._add_queue

        class Queues(self._scoped):  # type: ignore[misc, name-defined]
            __slots__ = ()

            def __setitem__(self, url: str, content: dict[str, Any]) -> None:
                super().__setitem__(url, add_queue(content))

        for name in ("_prune_dedup", "_delete_messages_for_esm", "get_state"):
            getattr(sqs, name)
        sqs._queues = Queues()
        sqs._ensure_msg_fields = lambda _message: None  # done when it is added
        sqs._prune_dedup = lambda queue: queue["dedup_cache"].forget_expired()
        sqs._expire_retained = partial(self._expire, sqs._expire_retained)
        sqs._dlq_sweep = partial(self._sweep, sqs._dlq_sweep)
        sqs._delete_messages_for_esm = self._delete_handles
        sqs._HANDLERS["DeleteMessageBatch"] = self._delete_batch
        sqs.get_state, sqs.load_persisted_state = self._describe_queues, self._restore

    def _save(self, message: dict[str, Any]) -> str:
        self._complete(message)
        return self._render(message)

    def _add_queue(self, content: dict[str, Any]) -> Queue:
        """A new queue: messages of an earlier one of its name are not its messages."""
        arn = content["attributes"]["QueueArn"]
        self._add((DELETE_QUEUE, (arn,)))
        return Queue(content, self._save, self._add)

    def _expire(self, expire: Callable[[Any], None], queue: Queue) -> None:
        """Look for messages that are too old only if the oldest one may be: they are in order."""
        oldest = next(iter(queue["messages"]), None)
        retention = int(queue["attributes"].get("MessageRetentionPeriod", 0))
        if oldest and oldest.get("enqueued_at", oldest["sent_at"]) <= time.time() - retention:
            expire(queue)

    def _sweep(self, sweep: Callable[[Any], None], queue: Queue) -> None:
        """Look for messages that were received too often only if one was received in vain."""
        now = time.time()
        if any(m["receive_count"] and m["visible_at"] <= now for m in list(queue["messages"])):
            sweep(queue)

    def _delete_handles(self, url: str, handles: Collection[str]) -> None:
        """Delete what a function has done."""
        with self._sqs._queues_lock:
            messages = self._sqs._get_q(url)["messages"]
            messages.remove_all(m for m in list(messages) if m["receipt_handle"] in handles)

    def _delete_batch(self, data: dict[str, Any], url: str) -> dict[str, Any]:
        """Delete messages in one pass over the queue. MiniStack makes one for each of them."""
        sqs, entries = self._sqs, data.get("Entries", [])
        messages = sqs._get_q(data.get("QueueUrl", url), "sqs:DeleteMessage")["messages"]
        sqs._validate_batch_entries(entries, "DeleteMessageBatchRequestEntry")
        asked = {entry.get("ReceiptHandle") for entry in entries} - {None, ""}
        found = {m["receipt_handle"]: m for m in list(messages) if m["receipt_handle"] in asked}
        messages.remove_all(found.values())
        answer: dict[str, Any] = {"Successful": [], "Failed": []}
        for entry in entries:
            if found.pop(entry.get("ReceiptHandle"), None):
                answer["Successful"].append({"Id": entry["Id"]})
            else:
                answer["Failed"].append({"Id": entry["Id"], **INVALID_HANDLE})
        return answer

    def _describe_queues(self) -> dict[str, Any]:
        """The state of SQS without messages, which have rows of their own."""
        queues = self._scoped()
        for scope, queue in self._sqs._queues.all_items():
            queues.set_scoped(*scope, {**queue, "messages": [], "dedup_cache": {}})
        return {"queues": queues, "queue_name_to_url": self._sqs._queue_name_to_url}

    def _restore(self, state: Any) -> None:
        """Restore SQS: ``state``, and what has rows of its own."""
        self._load_queues(state)
        for scope, content in self._sqs._queues.all_items():
            arn = content["attributes"]["QueueArn"]
            rows = self._query("SELECT message FROM message WHERE queue = ?", arn)
            messages = [*content["messages"], *(self._parse(text) for (text,) in rows)]
            messages.sort(key=lambda message: (message["sent_at"], message.get("seq") or ""))
            numbers = [int(message.get("seq") or 0) for message in messages]
            content["fifo_seq"] = max(content["fifo_seq"], *numbers, 0)
            content["messages"] = messages
            queue = Queue(content, self._save, self._add)
            self._sqs._queues.set_scoped(*scope, queue)
