"""Bad images, written beside the API, and dismissals of what no code can compute (rule 56)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any
from unittest import mock

from daicho.layout.backfill_state import RECORDED_KEY, BackfillState
from daicho.operations import action_log
from daicho.storage.attributes import Image, get_key
from daicho.storage.requests import to_key_image
from daicho.stream.heartbeat_watcher import INTERVAL_S
from daicho.testing.faults.code_versions import (
    MARK,
    NEW_CODE,
    OLD_CODE,
    POISON_FOR_NEW_CODE,
    POISON_FOR_OLD_CODE,
)
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_lambda import UNLIMITED_SECONDS
from daicho.testing.oracle.stream_history import UNDECLARED
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from tests.simulator.faults.controlled_invocations import stop_before_write
from tests.simulator.faults.waiting_processes import LARGE_BATCH, WaitingProcesses

SETTLE_S = 1_000.0
DISMISSAL_S = 600.0
"""The seconds of a dismissal that nothing else interrupts."""
LIFETIME = dt.timedelta(seconds=900)
"""A process ends before the settle time is over."""
MAX_PUTS = 5
"""Items that are put until one of them is disputed."""
MAX_DELIVERIES = 4
"""Times that what waits is delivered: with faults, or by code that stops, something may be left."""
MAX_CALLS = 20
"""Calls of a dismissal without faults; one that takes more never ends."""
SHARDS = "#shard#"
NEVER_RELEASED = 9
_DISPUTES: Mapping[Sequence[str], tuple[int, int]] = {
    (POISON_FOR_OLD_CODE,): (OLD_CODE, NEW_CODE),
    (POISON_FOR_NEW_CODE,): (NEW_CODE, OLD_CODE),
}
"""The code that cannot compute images of a kind, and the code that can."""


class DismissalEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods.

    ``versions``: the versions of the code of redrives and dismissals.
    """

    def __init__(self, parts: ScheduleParts, versions: Sequence[int]) -> None:
        super().__init__(parts)
        self._versions = versions
        self._waiting = WaitingProcesses(
            parts.deployment, parts.simulated_lambda, parts.deployment.choices, (300.0, 100.0)
        )
        self._cursor: str | None = None
        parts.deployment.clock.before_advance.append(self._end_outlived)
        ledger, commit = parts.deployment.entities.ledger, parts.deployment.dynamodb.commit
        for item in (
            to_key_image(RECORDED_KEY),
            *(
                BackfillState(name, 1, ledger.newest_generation(name).number, True).to_item()
                for name in ledger.list_types()
            ),
        ):
            commit(get_key(item), item)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """The ids of logged actions are numbers: a schedule that is played again has the same."""
        ids = mock.Mock(from_datetime=mock.Mock(side_effect=map("{:026}".format, count())))
        with mock.patch.object(action_log, "ULID", ids):
            yield

    def spoil(self) -> None:
        """A program that bypasses the library writes an image that is bad, or of no entity."""
        items = self._writer.items
        if not items or self._choices.draw_bool(0.2):
            self._parts.write()
            items = self._writer.items
        if not items:
            return
        self._spoil_item(items[self._choices.pick(sorted(items))])
        self._deployment.clock.advance(self._choices.pick((1, 30)))

    def _spoil_item(self, good: Image) -> None:
        item = dict(good)
        name, value = self._choices.pick(
            (
                ("gen", {"N": str(NEVER_RELEASED)}),
                ("gen", {"N": "0"}),
                ("gen", None),
                ("type", {"S": UNDECLARED}),
                ("type", None),
                ("type", {"N": "1"}),
            )
        )
        item |= {name: value} if value is not None else {}
        if value is None:
            item.pop(name, None)
        self._fault_counts[f"spoiled {name}"] += 1
        self._note(f"spoil {get_key(item)}: {name} becomes {value}")
        self._deployment.dynamodb.commit(get_key(item), item)

    def dismiss(self) -> None:
        """A dismissal begins, or the next call of one; or one under way waits for heartbeats."""
        calls = [each for each in self._lambda.detached if each.name == "redrive"]
        if calls and self._choices.draw_bool(0.7):
            call = self._choices.pick(calls)
            self._deployment.clock.advance(INTERVAL_S)
            self._waiting.deliver()
            if not call.finished:
                self._waiting.run_round(call)
            return
        if self._choices.draw_bool(0.2):
            self._deployment.clock.advance(SETTLE_S)
        self._begin("dismiss")

    def redrive_meanwhile(self) -> None:
        """A redrive begins."""
        self._begin("apply")

    def dismiss_at_once(self) -> None:
        """A dismissal runs to its end, after the settle time of earlier code."""
        if not self._has_claims:
            return
        self._deployment.clock.advance(self._choices.pick((SETTLE_S, 0.0)))
        self._dismiss_at_once(self._choices.pick(self._versions))

    def _dismiss_at_once(self, version: int) -> None:
        dismissal = self._waiting.start("redrive", self._work({"action": "dismiss"}))
        dismissal.code_version, dismissal.seconds = version, DISMISSAL_S
        self._note(f"dismissal by version {version}")
        self._run_to_end(dismissal)

    def _run_to_end(self, dismissal: SimulatedProcess) -> None:
        """Let the stream be delivered while a dismissal waits for its heartbeats."""
        while not dismissal.finished:
            self._waiting.run_round(dismissal)
            self._deployment.clock.advance(INTERVAL_S)
            self._waiting.deliver()

    def dispute(self) -> None:
        """One code computes a bad image. Other code claims its record, and dismisses it."""
        running, codes = self._lambda, _DISPUTES.get(self._writer.mark_kinds[:1])
        if codes is None or running.is_crowded:
            return
        claiming, computing = codes
        begin: Callable[[int, int], SimulatedProcess | None] = self._choices.pick(
            (self._stop_redrive, self._stop_projector, self._repeat_last)
        )
        self._deployment.clock.advance(self._choices.pick((SETTLE_S, 0.0)))
        self._deliver_all()
        late = begin(claiming, computing)
        self._fault_counts["disputed"] += 1
        if self._choices.draw_bool(0.2):
            self._note(self._writer.put())
        self._dismiss_at_once(claiming)
        if late is not None and not late.finished:
            running.finish_detached(late)

    def _stop_redrive(self, claiming: int, computing: int) -> SimulatedProcess | None:
        """A redrive by code that computes the image stops before a write."""
        self._deploy(claiming)
        self._put_disputed()
        self._deliver_all()
        redrive = self._waiting.start("redrive", self._work({"action": "apply", "limit": 100}))
        redrive.code_version = computing
        # Its first write enters the lock.
        writes = self._choices.pick((1, 1, 2, 3))
        return redrive if stop_before_write(self._lambda, redrive, writes) else None

    def _stop_projector(self, claiming: int, computing: int) -> SimulatedProcess | None:
        """The mapping gives up a batch that was announced, and other code claims its record."""
        self._deploy(computing)
        self._put_disputed()
        late: SimulatedProcess | None = None
        for consumer, shard in self._lambda.list_ready_shards():
            if consumer == "project" and self._lambda.invoke(consumer, shard, LARGE_BATCH):
                process = list(self._lambda.polled)[-1]
                writes = self._choices.pick((1, 1, 2))
                late = process if stop_before_write(self._lambda, process, writes) else late
        self._deploy(claiming)
        self._deliver_all()
        return late

    def _repeat_last(self, claiming: int, computing: int) -> None:
        """A record is counted. Then it arrives again, and other code claims it."""
        self._deploy(computing)
        self._put_disputed()
        self._deliver_all()
        self._deploy(claiming)
        for shard in self._deployment.stream.shards:
            if records := self._deployment.list_handled_records("project", shard):
                event = self._deployment.build_event(shard, records[-1:])
                repeat = self._lambda.start_detached("project", event)
                repeat.code_version = claiming
                self._lambda.finish_detached(repeat)
        self._deployment.clock.advance(SETTLE_S)

    def _put_disputed(self) -> None:
        """Put an item that only one of the codes can compute."""
        for _ in range(MAX_PUTS):
            self._note(self._writer.put())
            if any(MARK in item for item in self._writer.items.values()):
                break

    def _deliver_all(self) -> None:
        for _ in range(MAX_DELIVERIES):
            if not (self._lambda.polled or self._lambda.list_ready_shards()):
                break
            self._waiting.deliver()

    def _deploy(self, version: int) -> None:
        """Deploy a version; no function begins with the version before any more."""
        self._lambda.previous_version = self._lambda.code_version = version
        self._deployment.remember_dirty_shards(version)

    def delete_before_mark(self) -> None:
        """An item is deleted after a dismissal has read it, and before it is marked."""
        self._deployment.clock.advance(self._choices.pick((SETTLE_S, 0.0)))
        self._deliver_all()
        if not self._has_claims:
            return
        dismissal = self._waiting.start("redrive", self._work({"action": "dismiss"}))
        dismissal.code_version = self._lambda.code_version
        if stop_before_write(self._lambda, dismissal, 0, ("update_item",)):
            for key in sorted(self._writer.items):
                self._note(f"delete {key} before it is marked")
                self._deployment.dynamodb.commit(key, None)
            self._run_to_end(dismissal)

    def repair_late(self) -> None:
        """An item becomes bad when heartbeats have passed, and its repair is not delivered yet."""
        self.spoil()
        self._deliver_all()
        items = self._writer.items
        if not (items and self._has_claims):
            return
        self._deployment.clock.advance(SETTLE_S)
        dismissal = self._waiting.start("redrive", self._work({"action": "dismiss"}))
        dismissal.code_version, dismissal.seconds = self._lambda.code_version, DISMISSAL_S
        has_sent = False
        while not (dismissal.finished or (has_sent and dismissal.next_call == "update_item")):
            if dismissal.next_call == "batch_write_item":
                has_sent = True
                self._deployment.clock.advance(INTERVAL_S)
                self._waiting.deliver()  # which may end it: a delivery may take too long
            if not dismissal.finished:
                self._waiting.run_round(dismissal, 1)
        key = self._choices.pick(sorted(items))
        self._spoil_item(items[key])
        self._deliver_all()
        self._deployment.dynamodb.commit(key, self._choices.pick((items[key], None)))
        if not dismissal.finished:
            self._fault_counts["repaired late"] += 1
            self._lambda.finish_detached(dismissal)

    def _begin(self, action: str) -> None:
        if self._lambda.is_crowded:
            return
        self._fault_counts[f"{action} meanwhile"] += 1
        event: dict[str, Any] = {"action": action, "limit": 100}
        if action == "dismiss" and self._cursor is not None and self._choices.draw_bool(0.5):
            event["cursor"] = self._cursor
        process = self._waiting.start("redrive", self._work(event))
        process.code_version = self._choices.pick(self._versions)
        self._note(f"{action} of version {process.code_version} begins")

    def _work(self, event: dict[str, Any]) -> Callable[[Any], Any]:
        def work(process: Any) -> Any:
            report = self._deployment.run_handler("redrive", event, process)
            if event["action"] == "dismiss":
                self._cursor = report["cursor"]
                self._fault_counts["dismissed"] += report["dismissed"]
            return report

        return work

    def finish_redrives(self) -> None:
        """Without faults, everything that the fixed code cannot compute is dismissed."""
        running = self._lambda
        self._deployment.clock.advance(SETTLE_S)
        running.run_to_end("redrive", {"action": "apply"})
        event: dict[str, Any] = {"action": "dismiss"}
        for _ in range(MAX_CALLS):
            self._deployment.clock.advance(SETTLE_S)
            process = self._waiting.start("redrive", self._work(event))
            process.seconds, process.code_version = UNLIMITED_SECONDS, running.code_version
            self._run_to_end(process)
            report = process.outcome or {}
            if report.get("refused"):
                break
            event["cursor"] = report.get("cursor")
        else:
            running.unexpected.append(f"a dismissal never ends: {report}")
        running.drain()

    @property
    def _has_claims(self) -> bool:
        items = self._deployment.dynamodb.items
        return any(key.pk.startswith(SHARDS) and "GSI2PK" in item for key, item in items)

    def _end_outlived(self, seconds: float) -> None:
        """Before time passes: requests arrive, and processes that would live too long end."""
        if seconds >= SETTLE_S:
            self._lambda.land_late_requests()
        oldest = self._deployment.clock.now() + dt.timedelta(seconds=seconds) - LIFETIME
        self._lambda.end_processes(lambda process: process.began < oldest)

    def find_differences(self) -> list[str]:
        """A mark creates no item."""
        return [
            f"a mark alone: {image['PK']}"
            for shard in self._deployment.stream.shards.values()
            for record in shard.records
            if (image := record["dynamodb"].get("NewImage", {})).keys()
            == {"PK", "SK", "_dismissed"}
        ]
