"""Verifications of tallies beside a batch or an archiver that is late (rule 36)."""

from __future__ import annotations

from daicho.stream.claims import build_shard_key
from daicho.testing.faults.processes import SimulatedProcess
from tests.simulator.faults.controlled_invocations import stop_before_write
from tests.simulator.faults.waiting_processes import LARGE_BATCH
from tests.simulator.schedules.tally_verification_events import ABANDONED_S, MAX_STEPS, STEP_S
from tests.simulator.schedules.tally_verification_races import TallyVerificationRaces

AWAITED = frozenset({"settle", "end"})
"""The stages in which a run waits for heartbeats."""
TOO_OLD_S = 23 * 3600.0
"""After that, Lambda gives a record up."""
CONSUMERS = ("project", "archive")
LATE_LOOKS = 2
"""How often a step looks for a heartbeat before a consumer that is late has seen it."""
EXPIRED_S = 120.0
"""After that, an item that was just written has expired."""


class TallyBatchRaces(TallyVerificationRaces):
    """Further events, on one deployment. A profile names them by their methods."""

    def count_after_flags(self) -> None:
        """A batch is announced before a run sets its flags, and counted when the run waits."""
        self._settle_stream()
        self._write(self._choices.pick((1, 2)))
        if not self._stop_batch(writes=self._choices.pick((1, 2, 3))):
            return
        self._request(repair=False)
        step = self._run_late("read", "query", "project")
        if step is not None:
            self._read_tallies(step)
            self._fault_counts["race: counted after the flags"] += 1
            self._finish_run()

    def repeat_journaled_batch(self) -> None:
        """A batch is in the journal, and not counted, when a run reads the slots.

        Later it is repeated with fewer records, so another object of the journal names them.
        """
        self._settle_stream()
        self._request(repair=False)
        step = self._run_to("read", "query")
        if step is None:
            return
        self._write(self._choices.pick((2, 3)))
        is_stopped = self._stop_batch(writes=self._choices.pick((1, 2, 3)))
        self._read_tallies(step)
        if is_stopped:
            project = self._deployment.mappings["project"]
            for shard in project.list_ready_shards():
                project.replace_poller(shard)
                self._lambda.invoke("project", shard, 1)
            self._finish_polled()
            self._fault_counts["race: journaled twice"] += 1
        self._finish_run()

    def archive_after_flags(self) -> None:
        """Items expire before a run sets its flags, and are archived when it waits for that."""
        self._settle_stream()
        self._write(self._choices.pick((2, 4)))
        self._deliver(*CONSUMERS)
        if self._deployment.compute_max_wait() < EXPIRED_S:
            return
        self._deployment.clock.advance(EXPIRED_S)
        for _ in range(self._choices.pick((1, 3))):
            self._parts.expire()
        self._deliver("project")
        self._request(repair=False)
        step = self._run_late("spread", "", "archive")
        if step is not None:
            self._deliver(*CONSUMERS)
            self._fault_counts["race: archived after the flags"] += 1
            self._finish_run()

    def overtake_flags(self) -> None:
        """A step stops before it sets a flag, and goes on after the run of another request began.

        That run has two steps. One of them sets the same flag before, the other after that.
        """
        self._settle_stream()
        if not self._request(repair=False):
            return
        late = self._start_to("update_item")
        if late is None or self._deployment.compute_max_wait() < ABANDONED_S:
            return
        late.seconds = STEP_S + ABANDONED_S
        self._deployment.clock.advance(ABANDONED_S)
        if not self._request(repair=False):
            return
        slow, quick = self._start_to("update_item"), self._start_to("scan")
        if slow is None or quick is None:
            return
        self._waiting.run_round(late, 1)
        while not quick.finished and self._find_stage(quick) != "settle":
            self._waiting.run_round(quick, 1)
        self._write(self._choices.pick((2, 3)))
        self._deliver("project")
        self._waiting.run_round(slow, 1)
        self._fault_counts["race: overtaken flags"] += 1
        self._finish_run()

    def give_up_batch(self) -> None:
        """A record is older than Lambda lets it be, so a run cannot judge what it counts in.

        It is given up before the run begins, or late in the run and before the item changes again.
        """
        self._settle_stream()
        if is_first := self._choices.draw_bool(0.3):
            self._write_and_give_up()
        self._request(repair=False)
        if not is_first and self._run_to("read", "query") is not None:
            self._write_and_give_up()
            self._write(self._choices.pick((2, 4)))
        self._finish_run()
        self._lambda.redrive_all()

    # --- What the events share -----------------------------------------------------------------

    def _settle_stream(self) -> None:
        """Let the last run end, and deliver all records to both consumers."""
        self._finish_last()
        self._lambda.drain()

    def _deliver(self, *consumers: str) -> None:
        """Deliver everything to some consumers: children of shards follow their parents."""
        for _ in range(MAX_STEPS):
            ready = [pair for pair in self._lambda.list_ready_shards() if pair[0] in consumers]
            if not ready:
                return
            for consumer, shard in ready:
                self._lambda.invoke(consumer, shard, LARGE_BATCH)
            self._finish_polled()

    def _write_and_give_up(self) -> None:
        if self._deployment.compute_max_wait() > TOO_OLD_S:
            self._write(self._choices.pick((1, 2)))
            self._deployment.clock.advance(TOO_OLD_S)
            self._deliver(*CONSUMERS)
            self._fault_counts["race: given up"] += 1

    def _finish_polled(self) -> None:
        while self._lambda.polled:
            self._lambda.step_polled(next(iter(self._lambda.polled)))

    def _run_late(self, stage: str, call: str, late: str) -> SimulatedProcess | None:
        """See `_run_to`; a consumer gets what waits for it only if a run looks for it again."""
        looks = 0

        def deliver(step: SimulatedProcess) -> None:
            nonlocal looks
            if self._find_stage(step) in AWAITED:
                looks += 1
                self._deliver(*(name for name in CONSUMERS if name != late or looks > LATE_LOOKS))

        return self._run_to(stage, call, deliver)

    def _stop_batch(self, writes: int) -> bool:
        """Let the projector begin the next batch, and end it after so many writes.

        False if it has ended before.
        """
        for consumer, shard in self._lambda.list_ready_shards():
            if consumer != "project":
                continue
            process = self._lambda.invoke(consumer, shard, LARGE_BATCH)
            if process is not None:
                if stop_before_write(self._lambda, process, writes):
                    self._waiting.kill(process)  # nobody waits for it, but it would go on
                return process.outcome is None
        return False

    def _start_to(self, call: str) -> SimulatedProcess | None:
        """A new step that is about to make a call for a shard's item, or any scan."""
        step = self._begin_step()
        step.seconds = STEP_S
        while not step.finished:
            if step.next_call == call and (call == "scan" or step.next_key in self._shard_keys):
                return step
            self._waiting.run_round(step, 1)
        return None

    @property
    def _shard_keys(self) -> set[str]:
        """The partition keys of the items of all shards."""
        return {build_shard_key(shard).pk for shard in self._deployment.stream.shards}

    def _read_tallies(self, step: SimulatedProcess) -> None:
        """Let a step go on until it has read all slots."""
        for _ in range(MAX_STEPS):
            if step.finished or self._find_stage(step) != "read":
                return
            self._waiting.run_round(step, 1)
