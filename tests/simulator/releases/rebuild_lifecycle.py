"""Releases that start rebuilds and purges, and requests that take time (rules 29 to 34)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from daicho.release.states import (
    StageStates,
    build_deployed_update,
    build_record_update,
    list_filtered_types,
    read_stage_states,
)
from daicho.storage.attributes import get_key
from daicho.storage.protocols import apply_update
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.schedules.event_owner import ScheduleParts
from daicho.testing.schedules.rare_events import RESTORE
from tests.simulator.oracle.completions import CompletionCheck
from tests.simulator.releases.lifecycle import PAUSES_S, RELEASER, Lifecycle
from tests.simulator.releases.rebuilds import REBUILD_PROCESSES, Rebuilds
from tests.simulator.releases.restores import ReleasedRestores
from tests.simulator.releases.running_release import RunningRelease
from tests.simulator.schedules.code_history import CodeHistory, get_code_version, get_fixed_version

MAX_TRIES = 12
"""Steps of the last release, with those that are repeated."""
STEPS_WITH_OLDER = 3
"""Steps of a rebuild in which rolled-back code waits for a touch."""


class RebuildLifecycle(Lifecycle):
    """The events. A profile names them by their methods.

    ``settle_s``: see `Rebuilds`. Processes are shorter than in `Lifecycle`, because each 10 seconds
    of one that waits for heartbeats take long to play. Releases fail less often, because a rebuild
    begins once one is complete.
    """

    process_seconds: ClassVar[tuple[float, ...]] = (250.0, 200.0, 130.0)
    trouble_shares: ClassVar[tuple[float, ...]] = (0.0, 0.05, 0.0, 0.2)

    def __init__(self, parts: ScheduleParts, history: CodeHistory, settle_s: int) -> None:
        super().__init__(parts, history)
        self._completions = CompletionCheck(self._deployment, self._judge, self._note)
        self._deployment.observers.append(self._completions.check)
        self._judge.compares_contents = True
        self._rebuilds = Rebuilds(
            self._deployment,
            self._lambda,
            self._processes,
            self._choices,
            self._note,
            settle_s=settle_s,
            disturb=self._disturb,
            note_step=self._completions.note_step,
        )

    @property
    def rebuilds(self) -> Rebuilds:
        """The rebuilds that releases start."""
        return self._rebuilds

    def build_restores(self, parts: ScheduleParts) -> ReleasedRestores:
        """What restores archived rows."""
        return ReleasedRestores(parts, self._api, self._processes)

    # --- Events ------------------------------------------------------------------------------

    def request(self) -> None:
        """A request to the API begins; all instances read, and perhaps time passes."""
        if self._writes_left:
            self._writes_left -= 1
            self._api.request()
            self._api.read()
            self._deployment.clock.advance(self._choices.pick(PAUSES_S))

    def _disturb(self) -> None:
        """A restore continues, if one is under way; otherwise a request begins."""
        restores = [each for each in self._lambda.detached if each.name == RESTORE]
        if restores:
            self._processes.run_round(restores[0], self._choices.pick((2, 1, 5)))
        else:
            self.request()

    def work(self) -> None:
        """A rebuild continues, if one runs; otherwise a release, which may start one."""
        if self.rebuilds.executions:
            self.rebuilds.step()
        else:
            self.release()

    def write_older(self) -> None:
        """Code that was rolled back twice writes an item between its reading and its touch.

        When the item was read, it was of the second generation.
        """
        version, executions = self._api.version, self.rebuilds.executions
        if version is None or version[1] < 3 or not executions:
            return
        self._write_by(2, version[1])
        is_due = True

        def write_before_touch(process: SimulatedProcess) -> None:
            nonlocal is_due
            if process.next_call == "describe_table":
                self._processes.deliver()
            elif is_due and process.next_call == "update_item":
                is_due = not self._write_by(1, version[1])

        for _ in range(STEPS_WITH_OLDER):
            if executions and is_due:
                self.rebuilds.run_step(write_before_touch)
        self._lambda.fault_counts["race: older writer"] += not is_due

    def _write_by(self, code: int, number: int) -> bool:
        """Let the API's code of a release put an item; False if it does not start."""
        self._api.deploy(code, number)
        started = [each for each in self._api.running if each.version == (code, number)]
        if started:
            self._api.put(started[-1], self._choices.pick(sorted(started[-1].ledger.entities)))
        return bool(started)

    def operate(self) -> None:
        """See `Rebuilds.operate`."""
        self.rebuilds.operate()

    def look(self) -> None:
        """All instances read."""
        self._api.read()

    # --- The beginning and the end -----------------------------------------------------------

    def _begin(self, names: Sequence[str]) -> None:
        """The first release is deployed, and the API has written some items."""
        api, dynamodb = self._api, self._deployment.dynamodb
        ledger, now = self._history.get_ledger(1), self._deployment.clock.now()
        for state in StageStates({}, False, True).plan_release(ledger).values():
            item = state.to_item()
            dynamodb.commit(get_key(item), item)
        table = self._deployment.open_table()
        apply_update(table, build_record_update("1", list_filtered_types(ledger)))
        apply_update(table, build_deployed_update("1", now))
        api.consumers, api.version = 1, (1, 1)
        running = self._lambda
        running.code_version = running.previous_version = get_code_version(1)
        running.fixed_version = get_fixed_version(1)
        api.start()
        self._judge.add_writers(ledger, released=True)
        for _ in range(self._choices.pick((3, 6), "first items")):
            written = [name for name in names if name in ledger.entities]
            api.put(api.running[0], self._choices.pick(written))

    def end_processes(self) -> None:
        """End what waits for heartbeats: the stream is not delivered to it any more."""
        self._processes.kill_all(RELEASER, *REBUILD_PROCESSES)

    def finish(self) -> None:
        """Without faults, end the last deployment and all rebuilds."""
        states = read_stage_states(self._deployment.open_table()).states
        number, self._trouble = max(2, self._history.find_recorded(states)), 0.0
        ledger = self._history.get_ledger(number)
        self._release = release = RunningRelease(number, number, ledger)
        for _ in range(MAX_TRIES):
            if self._release is not release or release.outcome == "refused":
                break
            self._take_step(release)
            self._lambda.code_version = self._lambda.fixed_version
            self._lambda.previous_version = self._lambda.fixed_version
            while release.process is not None and not release.process.finished:
                self._processes.run_round(release.process)
                self._processes.deliver()
        self._api.end_unaware()
        found = self.rebuilds.finish()
        for line in (
            *found,
            *self._completions.find_left(),
            *self._completions.find_wrong_items(),
        ):
            self._judge.report(line)

    def _list_candidates(self) -> list[tuple[int, int]]:
        """See `Lifecycle`. No earlier ledger is released: nothing of it would be rebuilt."""
        deployed = self._api.consumers
        candidates = super()._list_candidates()
        return [each if each[1] >= deployed else candidates[0] for each in candidates]
