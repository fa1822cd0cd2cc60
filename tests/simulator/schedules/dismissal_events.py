"""Bad images, written beside the API, and dismissals of what no code can compute (rule 56)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any
from unittest import mock

from daicho.layout.backfill_state import RECORDED_KEY, BackfillState
from daicho.operations import action_log
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.requests import to_key_image
from daicho.stream.heartbeat_watcher import INTERVAL_S
from daicho.testing.faults.code_versions import NEW_CODE, OLD_CODE
from daicho.testing.faults.simulated_lambda import UNLIMITED_SECONDS
from daicho.testing.oracle.stream_history import UNDECLARED
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from tests.simulator.faults.controlled_invocations import stop_before_write
from tests.simulator.faults.waiting_processes import WaitingProcesses

SETTLE_S = 1_000.0
MAX_CALLS = 20
"""Calls of a dismissal without faults; one that takes more never ends."""
SHARDS = "#shard#"
NEVER_RELEASED, MARK = 9, "_dismissed"


class DismissalEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods.

    ``versions``: the versions of the code of redrives and dismissals.
    """

    def __init__(self, parts: ScheduleParts, versions: Sequence[int]) -> None:
        super().__init__(parts)
        self._versions = versions
        self._waiting = WaitingProcesses(
            parts.deployment, parts.simulated_lambda, parts.choices, (300.0, 100.0)
        )
        self._cursor: str | None = None
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
        item = dict(items[self._choices.pick(sorted(items))])
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
        self._deployment.clock.advance(self._choices.pick((1, 30)))

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
        dismissal.code_version = version
        self._note(f"dismissal by version {version}")
        while not dismissal.finished:
            self._waiting.run_round(dismissal)
            self._deployment.clock.advance(INTERVAL_S)
            self._waiting.deliver()

    def overtake_redrive(self) -> None:
        """A redrive stops before a write. The item changes, and other code dismisses meanwhile."""
        running = self._lambda
        if not self._has_claims:
            return
        redriving, dismissing = self._choices.pick(((NEW_CODE, OLD_CODE), (OLD_CODE, NEW_CODE)))
        redrive = self._waiting.start("redrive", self._work({"action": "apply", "limit": 100}))
        redrive.code_version = redriving
        # Its first write enters the lock.
        if not stop_before_write(running, redrive, self._choices.pick((1, 2, 3))):
            return
        self._parts.write()
        self._fault_counts["redrive overtaken"] += 1
        self._dismiss_at_once(dismissing)
        if not redrive.finished:
            running.finish_detached(redrive)

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
            while not process.finished:
                self._waiting.run_round(process)
                self._deployment.clock.advance(INTERVAL_S)
                self._waiting.deliver()
            report = process.outcome or {}
            if report.get("refused"):
                break
            event["cursor"] = report.get("cursor")
        else:
            running.unexpected.append(f"a dismissal never ends: {report}")
        running.drain()

    @property
    def _has_claims(self) -> bool:
        return any(key.pk.startswith(SHARDS) and "GSI2PK" in item for key, item in self._items)

    @property
    def _items(self) -> Iterable[tuple[ItemKey, Image]]:
        return self._deployment.dynamodb.items

    def find_differences(self) -> list[str]:
        """A mark creates no item."""
        alone = {"PK", "SK", MARK}
        return [f"a mark alone: {key}" for key, item in self._items if item.keys() == alone]
