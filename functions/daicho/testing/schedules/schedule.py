"""One schedule: writes, deliveries and faults, decided by a sequence of choices, to its end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from daicho.errors import UnreadableError
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.runtime.metrics import DAMAGE_METRIC
from daicho.stream.gap import read_gap
from daicho.testing.choices import Choices, build_scale
from daicho.testing.faults.code_versions import (
    NEW_CODE,
    OLD_CODE,
    MarkedImageLog,
    simulate_code_versions,
)
from daicho.testing.faults.fault_injector import FaultInjector
from daicho.testing.faults.lowered_limits import lower_limits
from daicho.testing.faults.parallel_work import simulate_threads
from daicho.testing.faults.processes import SimulatedProcess, simulate_retry_budgets
from daicho.testing.faults.simulated_deployment import DAYS_H, HOUR_S, SimulatedDeployment
from daicho.testing.faults.simulated_lambda import SimulatedLambda
from daicho.testing.oracle.differences import (
    find_differences,
    find_unmarked_differences,
    list_discards,
)
from daicho.testing.oracle.recomputation import Recomputation
from daicho.testing.oracle.recounts import (
    find_unknowable_tallies,
    find_wrong_recounts,
    list_recounts,
)
from daicho.testing.schedules.base_item_writer import BaseItemWriter
from daicho.testing.schedules.event_owner import ScheduleParts
from daicho.testing.schedules.profile import RARE_FAULTS, SLOW_STEPS, Profile
from daicho.testing.schedules.silence import silence_logs
from daicho.testing.stack_settings import TABLE


class Schedule:
    """Plays one schedule.

    ``fault_counts``: how often each kind of fault occurred. ``log``: what happened, line by line.
    ``recount_count``: the tallies that were left to a recount. ``owners``: those of the events that
    the profile adds.
    """

    def __init__(self, profile: Profile, choices: Choices) -> None:
        self.profile = profile
        self.choices = choices
        self.log: list[str] = []
        self.seed = 0
        self.recount_count = 0
        pick = choices.pick
        self.deployment = self._create_deployment()
        self.fault_counts = self.deployment.fault_counts
        self._marked_images = MarkedImageLog()
        self._slow: set[SimulatedProcess] = set()
        preferred = pick(profile.actions, "preferred action")
        names = pick(profile.entity_sets, "entities")
        mark_kinds = pick(profile.mark_kinds, "marks")
        max_items = pick(profile.max_items, "items")
        actions = (*profile.actions, preferred, preferred, preferred)
        self.writer = BaseItemWriter(
            self.deployment, names, actions, mark_kinds=mark_kinds, max_items=max_items
        )
        open_claims = pick(profile.max_open_claims, "open claims")
        starts = pick(profile.rollup_starts, "rollup starts")
        self._limits = lower_limits(open_claims, starts)
        weights = self._draw_fault_weights()
        event_weights = self._draw_event_weights()
        self._event_scale = build_scale(list(event_weights.values()))
        self._event_names = tuple(event_weights)
        self._writes_left = pick(profile.writes, "writes")
        self._lambda = SimulatedLambda(self.deployment, FaultInjector(weights), self.note)
        self._lambda.seconds = profile.timeouts
        parts = ScheduleParts(
            deployment=self.deployment,
            simulated_lambda=self._lambda,
            writer=self.writer,
            note=self.note,
            write=self._write,
            expire=self._expire,
        )
        self.owners = profile.build_owners(parts)
        self._events = [self._find_event(event) for event in event_weights]

    def _draw_fault_weights(self) -> dict[str, float]:
        """A loop: in Python 3.11 a comprehension would be the function that names the choices."""
        weights = {}
        for name in self.profile.faults:
            level = self.choices.pick(self.profile.fault_levels, name)
            weights[name] = level * RARE_FAULTS.get(name, 1)
        return weights

    def _draw_event_weights(self) -> dict[str, int]:
        weights = {}
        for event, levels in self.profile.event_weights.items():
            weights[event] = self.choices.pick(levels, event)
        return weights

    def _create_deployment(self) -> SimulatedDeployment:
        profile, pick = self.profile, self.choices.pick
        return SimulatedDeployment(
            self.choices,
            profile.entities,
            retries=pick(profile.retries, "retries"),
            shards=pick(profile.shards, "shards"),
            archive_retries=pick(profile.archive_retries, "archive retries"),
            parallelism=pick(profile.parallelism, "threads"),
            dirty_shards=pick(profile.dirty_shards, "dirty shards"),
        )

    def run(self) -> list[str]:
        """Play it; returns the differences from the recomputation at the end, in a line each."""
        with silence_logs() as metrics, ExitStack() as stack:
            stack.enter_context(simulate_code_versions(self._marked_images))
            watches = [owner.watch() for owner in self.owners]
            for each in (self._limits, simulate_retry_budgets(), simulate_threads(), *watches):
                stack.enter_context(each)
            self._play()
            self._finish()
            # After another stream, or a pause of a day, records may be lost (rule 60).
            has_gap = read_gap(self.deployment.open_table()).is_open
            is_told = DAMAGE_METRIC in metrics.getvalue() and not has_gap
            told = ["damage is told"] if is_told else []
            wrong = [*told, *self._lambda.unexpected]
            if any(owner.inflicts_damage for owner in self.owners):
                expected = (*told, UnreadableError.__name__)
                wrong = [line for line in wrong if not any(each in line for each in expected)]
            return [*wrong, *self._find_differences()]

    def recompute(self) -> Recomputation:
        """The derived state that there should be now."""
        return self.writer.recompute()

    def _find_event(self, name: str) -> Callable[[], None]:
        """The method that plays an event: of the schedule itself, or of the owner that has it."""
        own: list[Callable[[], None] | None] = [getattr(self, f"_{name}", None)]
        for event in (*own, *(getattr(owner, name, None) for owner in self.owners)):
            if event is not None:
                return event
        raise ValueError(
            f"profile {self.profile.name!r} has the event {name!r}, which is neither an event of "
            "every schedule nor a method of an owner that its build_owners returns"
        )

    def _play(self) -> None:
        for _ in range(self.choices.pick(self.profile.lengths)):
            if self.choices.is_loop_over:
                break
            self.choices.begin_span()
            self._events[self.choices.draw_weighted(self._event_scale, self._event_names)]()
        while self._writes_left and not self.choices.exhausted:
            self._write()
        if "redrive" in self.profile.events and not self.choices.exhausted:
            self._deploy_fix()

    def _deploy_fix(self) -> None:
        """The fixed code is deployed, and redrives start at once."""
        self._lambda.previous_version = self._lambda.code_version
        self._lambda.code_version = self._lambda.fixed_version
        self.note("the fix is deployed")
        for _ in range(self.choices.pick((2, 1, 0))):
            self._redrive()
        for _ in range(self.choices.pick((30, 60, 120))):
            if self.choices.exhausted:
                break
            self.choices.begin_span()
            self.choices.pick((self._detached, self._detached, self._advance))()

    def _finish(self) -> None:
        """Without faults and with the fixed code, everything is delivered and rolled up."""
        self.choices.begin_ending()
        self.note("no more faults")
        self.deployment.stop_lag()
        self._lambda.stop_faults()
        for owner in self.owners:
            owner.end_processes()
        self._lambda.drain()
        if "day" in self.profile.events:
            self._let_days_pass()
        if "redrive" in self.profile.events and self.choices.draw_bool(0.5):
            self._lambda.redrive_all()
            self._lambda.previous_version = self.choices.pick(
                (self._lambda.fixed_version, OLD_CODE)
            )
        for _ in range(self.choices.pick((0, 1, 3))):
            # Late, and perhaps by an old version of the code.
            self._repeat()
        self._lambda.drain()
        for owner in self.owners:
            owner.finish_redrives()
        self._lambda.redrive_all()
        for owner in self.owners:
            owner.finish()
        self._lambda.drain()
        for _ in range(2):
            self._lambda.run_to_end("rollup", {})
        for owner in self.owners:
            owner.clean_up()

    def _let_days_pass(self) -> None:
        """Slots are idle and folded, and tombstones expire, before anything is redriven."""
        self._lambda.run_to_end("rollup", {})
        hours = self.choices.pick((0, 25, DAYS_H))
        self.fault_counts["days"] += hours > 0
        self.deployment.clock.advance(hours * HOUR_S)
        for _ in range(self.choices.pick((0, 4, 20))):
            self._expire()
        for _ in range(self.choices.pick((0, 1, 3))):
            self.note(self.writer.write())
        self._lambda.drain()
        self._lambda.run_to_end("rollup", {})

    def _find_differences(self) -> list[str]:
        """The differences in everything that can be determined."""
        recomputation = self.recompute()
        recounts = list_recounts(self.deployment, recomputation.compute_amounts())
        self.recount_count = len(recounts)
        unknowable = find_unknowable_tallies(
            self.deployment, self._marked_images, self.deployment.clock.now().timestamp()
        )
        return [
            *find_wrong_recounts(recounts, unknowable),
            *find_differences(self.deployment, recomputation, recounts & unknowable),
            *([] if self.profile.discards else list_discards(self.deployment)),
            *(line for owner in self.owners for line in owner.find_differences()),
        ]

    # --- Events ------------------------------------------------------------------------------

    def _advance(self) -> None:
        """An invocation continues, or a new one starts."""
        polled = list(self._lambda.polled)
        position = self.choices.draw_number(len(polled) + 1) if polled else 0
        if position < len(polled):
            self._lambda.step_polled(polled[position])
        elif ready := self._lambda.list_ready_shards():
            self._lambda.invoke(*self.choices.pick(ready))

    def _write(self) -> None:
        if self._writes_left:
            self._writes_left -= 1
            if not any(owner.write_instead() for owner in self.owners):
                self.note(self.writer.write())
            self.deployment.clock.advance(self.choices.pick((1, 30)))

    def _detached(self) -> None:
        """A zombie, a late repetition or a scheduled function continues; a slow one rarely."""
        if self._lambda.detached:
            process = self.choices.pick(self._lambda.detached)
            if process not in self._slow or self.choices.draw_bool(SLOW_STEPS):
                self._lambda.step_detached(process)
                if process.finished and process.name == "rollup":
                    self._lambda.unexpected += find_unmarked_differences(self.deployment)

    def _maybe_slow_down(self, process: SimulatedProcess) -> None:
        if self.profile.slow and self.choices.draw_bool(self.profile.slow):
            self._slow.add(process)

    def _abandon(self) -> None:
        """A timeout: the batch arrives again, and the invocation may continue as a zombie."""
        if self._lambda.polled:
            self._lambda.time_out(self.choices.pick(list(self._lambda.polled)))

    def _repeat(self) -> None:
        """Some records that were handled long ago arrive again, out of order."""
        consumer = self.choices.pick(("project", "project", "archive"))
        shard = self.choices.pick(list(self.deployment.stream.shards))
        records = self.deployment.list_handled_records(consumer, shard)
        if not self._lambda.is_crowded and records:
            first = self.choices.draw_number(len(records))
            count = 1 + self.choices.draw_number(len(records) - first)
            self.fault_counts["late repeat"] += 1
            self.note(f"again {shard}[{first}:{first + count}] for {consumer}")
            event = self.deployment.build_event(shard, records[first : first + count])
            self._lambda.start_detached(consumer, event)

    def _rollup(self) -> None:
        if not self._lambda.is_crowded:
            self.fault_counts["rollup under way"] += 1
            self.note("rollup begins")
            self._maybe_slow_down(self._lambda.start_detached("rollup", {}))

    def _deploy(self) -> None:
        """Deploy the projector, then the writers (rule 3); sometimes the other way round."""
        before = self._lambda.code_version
        version = NEW_CODE if before == OLD_CODE else self.choices.pick((OLD_CODE, NEW_CODE))
        self._lambda.previous_version, self._lambda.code_version = before, version
        self.deployment.remember_dirty_shards(version)
        self.fault_counts["deploy"] += 1
        if version == NEW_CODE or self.choices.draw_bool(0.5):
            self.writer.known_generation = max(2, self.writer.known_generation)
        self.note(f"deploy {version}, writers know generation {self.writer.known_generation}")

    def _expire(self) -> None:
        """DynamoDB's TTL process removes an expired item."""
        dynamodb = self.deployment.dynamodb
        expired = sorted(key for key, _ in dynamodb.items if dynamodb.is_expired(key))
        if expired:
            key = self.choices.pick(expired)
            if "~" in key.pk:
                self.fault_counts["tombstone expired"] += 1
            self.writer.expire(key)
            self.note(f"TTL removes {key}")

    def _day(self) -> None:
        """Hours or days pass. No process survives them.

        Records may exceed the maximum age of their mapping, but the stream keeps them.
        """
        limit = self.deployment.compute_max_wait()
        candidates = (1, 23, 25, DAYS_H, DAYS_H, DAYS_H)
        possible = [hours * HOUR_S for hours in candidates if hours * HOUR_S <= limit]
        if not possible:
            return
        seconds = self.choices.pick(possible)
        self._lambda.end_all()
        self.fault_counts["hours" if seconds < 24 * HOUR_S else "days"] += 1
        self.note(f"{seconds / HOUR_S:.0f} hours pass")
        self.deployment.clock.advance(seconds)
        for _ in range(self.choices.pick((0, 2, 8))):
            self._expire()

    def _redrive(self) -> None:
        if not self._lambda.is_crowded:
            if any(process.name == "redrive" for process in self._lambda.detached):
                self.fault_counts["two redrives at once"] += 1
            self.fault_counts["redrive under way"] += 1
            self.note("redrive begins")
            event = {
                "action": self.choices.pick(("apply", "apply", "apply", "list")),
                "limit": self.choices.pick((100, 1, 2)),
            }
            cursor = self.choices.pick((None, self._lambda.redrive_cursor))
            event |= {"cursor": cursor} if cursor else {}
            process = self._lambda.start_detached("redrive", event)
            if self.profile.redrive_versions:
                process.code_version = self.choices.pick(self.profile.redrive_versions)
            process.seconds = self.choices.pick((300, 60))
            self._maybe_slow_down(process)

    def _load(self) -> None:
        """Write several items in one batch."""
        if self._writes_left and not self._lambda.is_crowded:
            self._writes_left -= 1
            items = [self.writer.draw_image() for _ in range(1 + self.choices.draw_number(4))]
            self.note(f"load of {len(items)}")

            def work(process: SimulatedProcess) -> None:
                dependencies = self.deployment.build_dependencies(process)
                retry_budget = make_retry_budget(process, dependencies)
                dependencies.table(TABLE).batch_write(items, retry_budget=retry_budget)

            self._lambda.detached.append(self._lambda.create_process("load", work))

    def note(self, line: str) -> None:
        """Add a line to the log."""
        self.log.append(line)
