"""Events of items: writes with versions, the publisher, broken chains, and what must arrive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

from daicho.archive.chain import Chain, read_watermark
from daicho.plan import Ledger
from daicho.storage.attributes import Image
from daicho.storage.event_queue import EventMessage
from daicho.storage.item_key import get_key
from daicho.stream import published_events
from daicho.stream.records import StreamRecord
from daicho.testing.aws.memory_events import VISIBILITY_TIMEOUT
from daicho.testing.faults.code_versions import PoisonError, is_fixed
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import ARCHIVE_BUCKET
from tests.simulator.oracle.published_events import find_event_differences

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
        parts.deployment.runners["publish"] = self._run_publisher

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

    # --- The publisher -----------------------------------------------------------------------

    def publish(self) -> None:
        """Lambda invokes the publisher with the messages that are visible."""
        event = None if self._lambda.is_crowded else self._receive()
        if event is not None:
            self._note(f"publish begins {[each['messageId'] for each in event['Records']]}")
            self._lambda.start_detached("publish", event)

    def _receive(self) -> dict[str, Any] | None:
        return self._deployment.queue.receive(self._choices.pick((10, 1, 2)))

    def _run_publisher(self, event: Mapping[str, Any], process: SimulatedProcess) -> Any:
        """Run the function. Its messages are removed when it has answered."""
        handler = self._deployment.build_handler("publish", process, process.code_version)
        answer = handler(event, process)
        self._deployment.queue.settle(event, answer)
        return answer

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
        while self._deployment.queue.messages:
            event = self._receive()
            if event is None:
                self._deployment.clock.advance(VISIBILITY_TIMEOUT.total_seconds())
            else:
                self._lambda.run_to_end("publish", event)

    def find_differences(self) -> list[str]:
        """See `find_event_differences`."""
        return find_event_differences(self._deployment)
