"""Events of items: writes with versions, the publisher, broken chains, and what must arrive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

from daicho.archive.chain import Chain, read_watermark
from daicho.book.book import Book
from daicho.declare.subscribers import Event, Subscriber
from daicho.layout.event_records import build_event_key
from daicho.plan import Ledger
from daicho.storage.attributes import Image, get_key
from daicho.storage.event_queue import EventMessage
from daicho.stream import published_events
from daicho.stream.records import StreamRecord
from daicho.testing.faults.code_versions import PoisonError, is_fixed
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import ARCHIVE_BUCKET
from tests.simulator.oracle.published_events import (
    find_event_differences,
    find_handling_differences,
)

POISON = "unpublishable"
"""The attribute of an image whose events only the fixed code can compute."""
ACTIONS = ("put", "put", "change", "change", "change", "touch", "load", "delete", "replace expired")


class PublishingEvents(EventOwner):
    """Writes as the Book does, plays the function `publish`, and judges the bus at the end."""

    def __init__(self, parts: ScheduleParts) -> None:
        super().__init__(parts)
        self._broken: set[str] = set()
        self._births = 0
        self._has_poison = self._choices.pick((False, False, True), "poison events")
        self._may_break = self._choices.pick((True, False), "broken chains")
        self._handled: list[Event] = []
        self._handled_again: list[str] = []
        self._answered: set[tuple[str, str]] = set()
        deployment = parts.deployment
        deployment.subscribers = {
            name: replace(each, function=partial(self._handle, each))
            for name, each in deployment.subscribers.items()
        }
        self._queues = {"publish": deployment.queue}
        self._queues |= {name: deployment.queues[name] for name in deployment.subscribers}
        for name in self._queues:
            deployment.runners[name] = partial(self._run_receiver, name)

    # --- Writes ------------------------------------------------------------------------------

    def write_instead(self) -> bool:
        """Write an item with its version, or touch, load or delete one."""
        dynamodb, drawn = self._deployment.dynamodb, dict(self._writer.draw_image())
        key, action = get_key(drawn), self._choices.pick(ACTIONS)
        if self._choices.draw_bool(0.3):
            drawn.pop("lines", None)  # its default
        stored = dynamodb.find(key)
        if stored is not None and "version" not in stored:
            stored = None
        if action == "delete" or (action != "put" and stored is None):
            dynamodb.commit(key, None)
            self._note(f"{action}: delete {key.pk}")
            return True
        new = self._build_image(action, drawn, stored)
        if self._has_poison and self._choices.draw_bool(0.2):
            new[POISON] = {"BOOL": True}
        dynamodb.commit(key, new)
        self._note(f"{action} {key.pk} {new['version']['N']}")
        return True

    def _build_image(self, action: str, drawn: Image, stored: Image | None) -> dict[str, Any]:
        if stored is None or action == "replace expired":
            # Another item, which may have the version of the one before.
            self._births += 1
            created = {"S": f"2026-11-21T01:05:40.{self._births:06}Z"}
            return {**drawn, "created_at": created, "version": {"N": "1"}}
        number = int(stored["version"]["N"])
        kept = {"created_at": stored["created_at"], "version": {"N": str(number + 1)}}
        if action == "touch":  # a migration of fields
            return {**stored, **drawn, **kept, "version": stored["version"]}
        if action == "load":
            return {**drawn, **kept, "_quiet": kept["version"]}
        old = {name: value for name, value in stored.items() if name != POISON}
        return {**(old if action == "change" else {}), **drawn, **kept}

    # --- The publisher and the subscribers ---------------------------------------------------

    def publish(self) -> None:
        """Lambda invokes the publisher or a subscriber with the messages that are visible."""
        name = self._choices.pick((*self._queues,))
        event = None if self._lambda.is_crowded else self._receive(name)
        if event is not None:
            self._note(f"{name} begins {[each['messageId'] for each in event['Records']]}")
            self._lambda.start_detached(name, event)

    def _receive(self, name: str) -> dict[str, Any] | None:
        return self._queues[name].receive(self._choices.pick((10, 1, 2)))

    def _run_receiver(self, name: str, event: Mapping[str, Any], process: SimulatedProcess) -> Any:
        """Run a function. Its messages are removed when it has answered."""
        handler = self._deployment.build_handler(name, process, process.code_version)
        answer = handler(event, process)
        self._queues[name].settle(event, answer)
        left = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
        records = [each for each in event["Records"] if each["messageId"] not in left]
        self._answered |= {(name, each["attributes"]["MessageDeduplicationId"]) for each in records}
        return answer

    def _handle(self, subscriber: Subscriber, book: Book, event: Event) -> None:
        """Run the function of a subscriber, which fails now and then until it is fixed."""
        key = build_event_key(event.tenant, subscriber.name, event.id)
        record = self._deployment.dynamodb.find(key)
        is_done = (subscriber.name, event.id) in self._answered
        if is_done or record is None or record["state"] == {"S": "COMPLETED"}:
            self._handled_again.append(f"handled again: {event.id}, {record}")
        self._handled.append(event)
        process = get_running_process()
        if process and not is_fixed(process.code_version) and self._choices.draw_bool(0.1):
            self._fault_counts["poison"] += 1
            raise PoisonError(POISON)
        subscriber.function(book, event)

    # --- What goes wrong ---------------------------------------------------------------------

    def break_chain(self) -> None:
        """A foreign object takes the name of the next link of a chain of today."""
        if not self._may_break:
            return
        today = self._deployment.clock.now().date()
        for shard in self._deployment.stream.shards:
            chain = Chain(shard, self._choices.pick(("Bill", "Memo")), today)
            item = self._deployment.dynamodb.find(chain.watermark_key)
            name = chain.render_link_name(read_watermark(item))
            bucket = self._deployment.buckets[ARCHIVE_BUCKET]
            if name not in bucket.stored:
                bucket.put_object(Key=name, Body=b"no link", Metadata={})
                self._broken.add(name)
                self._fault_counts["broken chain"] += 1

    def end_processes(self) -> None:
        """Somebody removes the foreign objects: see the base class."""
        for name in self._broken:
            del self._deployment.buckets[ARCHIVE_BUCKET].stored[name]

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Let code that is not fixed fail at events: see the base class."""
        build = published_events.build_messages

        def build_marked(record: StreamRecord, ledger: Ledger, stage: str) -> list[EventMessage]:
            process = get_running_process()
            if POISON in (record.new or {}) and process and not is_fixed(process.code_version):
                self._fault_counts["poison"] += 1
                raise PoisonError(POISON)
            return build(record, ledger, stage)

        with mock.patch.object(published_events, "build_messages", build_marked):
            yield

    # --- The judge ---------------------------------------------------------------------------

    def finish(self) -> None:
        """Everything is sent. Publish it: see the base class."""
        for name, queue in self._queues.items():
            while queue.messages:
                event = self._receive(name)
                if event is None:
                    self._deployment.clock.advance(queue.visibility.total_seconds())
                else:
                    self._lambda.run_to_end(name, event)

    def find_differences(self) -> list[str]:
        """See `find_event_differences`."""
        return [
            *find_event_differences(self._deployment),
            *find_handling_differences(self._deployment, self._handled),
            *self._handled_again,
        ]
