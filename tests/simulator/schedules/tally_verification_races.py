"""Verifications of tallies that are overtaken at the operations on which rules 36 and 37 depend."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from daicho.jobs import pass_step
from daicho.jobs.step import SAVE_INTERVAL
from daicho.testing.faults.code_versions import FIXED_CODE
from daicho.testing.faults.processes import SimulatedProcess
from daicho.verify.job import find_verification
from tests.simulator.schedules.pause_events import REDRIVE_ALL
from tests.simulator.schedules.tally_verification_events import (
    MAX_DELIVERIES,
    MAX_STEPS,
    STEP_S,
    VERIFY,
    TallyVerificationEvents,
)

IDLE_S = 73 * 3600.0
"""After that, slots are folded."""
ALMOST_ABANDONED_S, MORE_S = 3_500.0, 200.0
"""Almost an hour, in which another run is refused; and the rest of it."""
MAX_INFLICTED = 4
"""Attempts to inflict something that a correction repairs."""
CORRECTION = "transact_write_items"


class TallyVerificationRaces(TallyVerificationEvents):
    """Further events, on one deployment. A profile names them by their methods."""

    def lose_correction(self) -> None:
        """A step is killed before a correction or after it, and another one makes it again."""
        self._inflict_and_request()
        step = self._run_to("judge", CORRECTION)
        if step is not None:
            self._waiting.run_round(step, self._choices.pick((1, 2)))
            if not step.finished:
                self._waiting.kill(step)
            self._fault_counts["race: lost correction"] += 1

    def overtake_correction(self) -> None:
        """A step begins just before nobody has worked on its run for an hour.

        It stops before a correction. Then another run begins, and corrects everything.
        """
        self._inflict_and_request()
        step = self._run_to("judge", CORRECTION)
        if step is None:
            return
        self._waiting.kill(step)
        self._lambda.drain()
        if self._deployment.compute_max_wait() < ALMOST_ABANDONED_S + MORE_S:
            return
        self._deployment.clock.advance(ALMOST_ABANDONED_S)
        # As in the stack, a step that has just begun saves nothing.
        with mock.patch.object(pass_step, "SAVE_INTERVAL", SAVE_INTERVAL):
            step = self._run_to("judge", CORRECTION)
        self._deployment.clock.advance(MORE_S)
        if step is not None and self._request(repair=True):
            self._finish_run()
            self._waiting.run_round(step, MAX_STEPS)
            self._fault_counts["race: overtaken correction"] += 1

    def fold_beside_reading(self) -> None:
        """Nothing happens for three days. Then idle slots are folded while a run reads them."""
        self._waiting.kill_all(VERIFY)
        self._write(4)
        self._lambda.drain()
        self._lambda.run_to_end("rollup", {})
        self._lambda.land_late_requests()
        if self._deployment.compute_max_wait() < IDLE_S:
            return
        self._deployment.clock.advance(IDLE_S)
        recorder = self._deployment.recorder
        for shard in sorted(recorder.open_shards):
            recorder.roll(shard)  # what is counted from now on is in other slots
        self._write(4)
        self._lambda.drain()
        if self._choices.draw_bool(0.8):  # otherwise a run continues whose flags are over
            self._request(repair=self._choices.draw_bool(0.5))
        step = self._run_to("read", "query")
        if step is not None:
            # A tally is read in three operations, of which the second one reads its slots.
            self._waiting.run_round(step, 3 * self._choices.draw_number(2))
            self._lambda.run_to_end("rollup", {})
            self._fault_counts["race: fold"] += 1

    def lower_beside_records(self) -> None:
        """A slot refuses records that arrive just before a run lowers its number."""
        self._finish_last()
        if self._damage.run_away() and self._request(repair=True):
            step = self._run_to("numbers", CORRECTION)
            if step is not None:
                self._write(self._choices.pick((1, 2, 3)))
                self._deliver_all(MAX_DELIVERIES)
                self._fault_counts["race: lowered number"] += 1
                self._finish_run()

    def write_behind_cut(self) -> None:
        """Records are counted or set aside between the end of the journal and its reading."""
        self._finish_last()
        redrive = self._lambda.start_detached("redrive", REDRIVE_ALL)
        redrive.code_version, redrive.seconds = FIXED_CODE, STEP_S
        self._lambda.finish_detached(redrive)
        self._request(repair=self._choices.draw_bool(0.5))
        if self._run_to("entries", "list_objects_v2") is not None:
            self._write(self._choices.pick((2, 3)))
            self._deliver_all(MAX_DELIVERIES)
            self._fault_counts["race: behind the cut"] += 1

    def _write(self, count: int) -> None:
        for _ in range(count):
            self._note(self._writer.write())

    def _inflict_and_request(self) -> None:
        self._finish_last()
        for _ in range(MAX_INFLICTED):
            if self._damage.left:
                break
            self.damage_tally()
        self._request(repair=True)

    def _finish_last(self) -> None:
        """Let the last run end, so that another one may begin."""
        job = find_verification(self._deployment.open_table())
        if job is not None and job.outcome is None:
            self._finish_run()

    def _run_to(
        self,
        stage: str,
        call: str,
        deliver: Callable[[SimulatedProcess], None] | None = None,
    ) -> SimulatedProcess | None:
        """Let the last run continue until a step of it is about to make a call in a stage.

        ``call``: the client's method, or "" for any. ``deliver``: what happens when the step looks
        for its heartbeats; by default everything is delivered. None if the run ends before that.
        """
        for _ in range(MAX_STEPS):
            job = find_verification(self._deployment.open_table())
            if job is None or job.outcome is not None:
                break
            step = next(iter(self._list_running()), None) or self._begin_step()
            step.seconds = STEP_S
            while not step.finished:
                if step.next_call == "describe_table" and deliver is not None:
                    deliver(step)
                elif step.next_call == "describe_table":
                    self._deliver_all(MAX_DELIVERIES)
                elif call in ("", step.next_call) and self._find_stage(step) == stage:
                    return step
                self._waiting.run_round(step, 1)
        return None

    def _find_stage(self, step: SimulatedProcess) -> str:
        job = self._jobs.get(step)
        return "" if job is None else job.places.get("tallies", {}).get("stage", "")
