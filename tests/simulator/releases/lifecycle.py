"""Releases of ledgers and code in both directions, while code of several releases runs.

A release goes through `daicho.release.release.Release`, between whose steps it may end. Code is
rolled back with the newer ledger, and an earlier ledger is released. Function instances of the API
write the generation of their code, and choose the instances of declarations that answer (rules 25
to 27).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

from daicho.errors import UnavailableError
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.layout.backfill_state import CHECK_KEY
from daicho.release.refusals import ReleaseRefusedError
from daicho.release.release import Release
from daicho.runtime.settings import MIN_FILTER_SPREAD_S
from daicho.storage.attributes import ItemKey
from daicho.stream.heartbeat_watcher import HeartbeatWatcher
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.oracle.stream_history import list_images
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import TABLE
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.oracle.instance_reads import ReadJudge
from tests.simulator.releases.api_instances import ApiInstances
from tests.simulator.releases.rebuilds import Rebuilds
from tests.simulator.releases.running_release import NEXT, RunningRelease, Step
from tests.simulator.schedules.code_history import CodeHistory, get_code_version, get_fixed_version
from tests.simulator.schedules.filter_spread import FILTER_DELAYS_S

RELEASER = "releaser"
"""The process of a step of a release."""
MAX_RELEASERS = 2
PROCESS_S = (900.0, 300.0, 150.0)
WRITES = (8, 14, 20)
TROUBLE = (0.05, 0.0, 0.2)
"""The share of turns in which a release, or a process of it, ends early."""
FILTER_SPREAD_S = float(MIN_FILTER_SPREAD_S)
"""Seconds that a release waits before its first heartbeat: no fewer than any stage of an account.
In them, each reader begins to use the newest filter."""
PAUSES_S = (0.0, 1.0, 0.5, 30.0)
"""Seconds between two writes: also fewer than a backfill item is cached."""
LASTING_KEY = ItemKey("other", "-")
"""The key of an item of another tenant: a table without any item would count as new."""


class Lifecycle(EventOwner):
    """The events of releases, on one deployment. A profile names them by their methods."""

    process_seconds: ClassVar[tuple[float, ...]] = PROCESS_S
    trouble_shares: ClassVar[tuple[float, ...]] = TROUBLE

    def __init__(self, parts: ScheduleParts, history: CodeHistory) -> None:
        super().__init__(parts)
        self._history = history
        self._judge = ReadJudge(parts.deployment, parts.note)
        self._processes = WaitingProcesses(
            parts.deployment, parts.simulated_lambda, parts.deployment.choices, self.process_seconds
        )
        self._api = ApiInstances(
            history,
            parts.writer.names,
            parts.deployment,
            self._processes,
            parts.writer,
            parts.deployment.choices,
            self._judge,
            parts.note,
        )
        self._release: RunningRelease | None = None
        self._before: tuple[int, int] | None = None
        self._runs = 0
        self._writes_left = self._choices.pick(WRITES, "writes")
        self._trouble = self._choices.pick(self.trouble_shares, "trouble")
        self._begin(parts.writer.names)

    @property
    def rebuilds(self) -> Rebuilds | None:
        """The rebuilds that releases start, if any are played."""
        return None

    def _begin(self, names: Sequence[str]) -> None:
        if self._choices.pick((False, False, True), "has items"):
            self._begin_with_items(names[0])

    # --- Events ------------------------------------------------------------------------------

    def release(self) -> None:
        """Begin a release, or let the present one take some steps, or end it."""
        for _ in range(self._choices.pick((6, 3, 1))):
            self._advance()
            if self._release is None:
                break

    def roll_back(self) -> None:
        """Deploy the API's code of an earlier release, without a release of its own."""
        if self._api.version is None:
            return
        code, number = self._api.version
        if code > 1 and self._history.build_ledger(code - 1, number) is not None:
            self._lambda.fault_counts["code rolled back"] += 1
            self._note(f"the API is rolled back to code {code - 1} with ledger {number}")
            self._api.deploy(code - 1, number)

    def instance(self) -> None:
        """An instance of the API starts, or one ends."""
        if self._choices.draw_bool(0.3):
            self._api.end_one()
        else:
            self._api.start()

    def use(self) -> None:
        """An instance of the API writes some items; all instances read after each of them."""
        for _ in range(self._choices.pick((1, 2, 3))):
            if self._api.running and self._writes_left:
                self._writes_left -= 1
                self._api.write(self._choices.pick(self._api.running))
                self._api.read()
            self._deployment.clock.advance(self._choices.pick(PAUSES_S))

    def rebuild(self) -> None:
        """Touch all items, while no release may open another ledger."""
        if not self._processes.count(RELEASER):
            self._lambda.land_late_requests()
            self._api.rebuild()

    # --- The beginning and the end -----------------------------------------------------------

    def _begin_with_items(self, name: str) -> None:
        """The first release is deployed, by a library that stored no backfill items."""
        api = self._api
        api.consumers, api.version = 1, (1, 1)
        running = self._lambda
        running.code_version = running.previous_version = get_code_version(1)
        running.fixed_version = get_fixed_version(1)
        api.start()
        api.put(api.running[0], name)
        item = {"PK": {"S": LASTING_KEY.pk}, "SK": {"S": LASTING_KEY.sk}}
        self._deployment.dynamodb.commit(LASTING_KEY, item)

    def find_differences(self) -> list[str]:
        """What was wrong at any time, and what instances chosen at the end lack."""
        newest = self._api.refresh()
        differences: list[str] = []
        for version in sorted({instance.version for instance in self._api.running}):
            chosen = self._judge.read(self._api.create(*version), newest)
            differences += self._judge.find_differences(chosen, newest)
        return [*self._judge.wrong, *differences]

    # --- A release ---------------------------------------------------------------------------

    def _advance(self) -> None:
        release = self._release
        if release is None:
            self._begin_release()
        elif release.process is not None and not release.process.finished:
            self._continue(release, release.process)
        elif release.outcome == "refused":
            self._release = None
        elif release.process is not None and release.outcome != "done":
            self._try_again(release)
        elif self._choices.draw_bool(self._trouble):
            self._abandon(f"before {release.step.value}")
        else:
            self._take_step(release)

    def _list_candidates(self) -> list[tuple[int, int]]:
        """The releases of code and ledger of which one may begin now."""
        deployed, newest = self._api.consumers, self._history.newest
        if deployed == 0:  # also a table that begins with several generations
            return [(2, 2), (1, 1), (2, 2), (1, 2), (newest, newest)]
        following, earlier = min(deployed + 1, newest), max(deployed - 1, 1)
        code = self._api.version[0] if self._api.version else deployed
        return [
            (following, following),
            (following, following),
            (max(code - 1, 1), deployed),
            (code, following),
            (earlier, earlier),
            (newest, newest),
        ]

    def _begin_release(self) -> None:
        deployed, candidates = self._api.consumers, self._list_candidates()
        code, number = self._choices.pick(candidates, "release")
        ledger = self._history.build_ledger(code, number)
        if ledger is not None:
            deployed_code = self._api.version[0] if self._api.version else 0
            self._lambda.fault_counts["shorter ledger"] += number < deployed
            self._lambda.fault_counts["code rolled back"] += code < deployed_code <= number
            self._release = RunningRelease(code, number, ledger)
            self._note(f"a release begins: {self._release}")

    def _take_step(self, release: RunningRelease) -> None:
        self._note(f"release of {release}: {release.step.value}")
        match release.step:
            case Step.CHECK | Step.OPEN | Step.FINISH:
                self._start_process(release)
            case Step.CONSUMERS:
                self._deploy_consumers(release)
                release.step = Step.OPEN
                release.process = None
            case Step.API:
                before, self._release = self._api.version, None
                release.process = None
                self._lambda.fault_counts["release"] += 1
                if self._history.build_ledger(release.code, release.found) is None:
                    self._note("code that goes back does not load the ledger")
                else:
                    self._api.judge_successor(release.code, release.found)
                    self._api.deploy(release.code, release.found)
                    if self._choices.draw_bool(self._trouble):
                        self._go_back(before)
                    elif self.rebuilds is not None and release.finishes:
                        self._before = before
                        self._release, release.step = release, Step.FINISH

    def _start_process(self, release: RunningRelease) -> None:
        is_check, is_finish = release.step is Step.CHECK, release.step is Step.FINISH
        release.outcome = ""
        self._runs += 1
        run = f"run{self._runs}"
        release.checks |= {run} if is_check else set()

        def work(process: SimulatedProcess) -> None:
            dependencies = self._processes.build_dependencies(process)
            table = dependencies.table(TABLE)
            describer = self._deployment.build_stream_describer(process)
            watcher = HeartbeatWatcher(table, describer, now=dependencies.now)
            prepared = Release(
                table, watcher, release.ledger, FILTER_SPREAD_S, lambda: release.is_going_back
            )
            budget, source = make_retry_budget(process, dependencies), str(release.number)
            earlier = self._list_checks()
            try:
                if is_finish and self.rebuilds is not None:
                    self.rebuilds.finish_deployment(process, release.ledger, source)
                elif is_check:
                    release.found = int(prepared.check(run, source, budget))
                else:
                    prepared.open_to_writers(run, source, budget)
            except ReleaseRefusedError as error:
                self._lambda.fault_counts["release refused"] += 1
                # Else another one was checked, if only until the request of a check was carried out
                # late: then that check is the last one once more.
                last, *later = self._list_checks()[max(len(earlier) - 1, 0) :] or [""]
                if is_check or (last in release.checks and not later):
                    self._judge.judge_refusal(release.ledger, str(error))
                self._end_process(release, process, "refused")
            except UnavailableError:
                self._end_process(release, process, "unavailable")
            else:
                self._end_process(release, process, "done")

        if is_finish:
            self._api.end_unaware()
        elif not is_check and release.found == release.number:
            self._api.opened = max(self._api.opened, release.number)
            self._judge.add_writers(release.ledger, released=True)
        release.process = self._processes.start(RELEASER, work)

    def _list_checks(self) -> list[str]:
        """The stamps of the checks that were recorded, in their order."""
        stamps = [image["stamp"]["S"] for image in list_images(self._deployment.stream, CHECK_KEY)]
        return [stamp for stamp, _ in groupby(stamps)]

    def _end_process(
        self, release: RunningRelease, process: SimulatedProcess, outcome: str
    ) -> None:
        """A step has ended. It counts only if its release has not been given up."""
        self._note(f"release of {release}: {outcome}")
        if self._release is not release or release.process is not process:
            return
        release.outcome = outcome
        if outcome == "done":
            if release.step is Step.CHECK:
                found = self._history.get_ledger(release.found)
                self._judge.judge_acceptance(found, self._api.running)
            if release.step is Step.FINISH:
                self._release = None
            else:
                release.step = NEXT[release.step]

    def _continue(self, release: RunningRelease, process: SimulatedProcess) -> None:
        """Let a step of a release continue. Its heartbeats are delivered meanwhile."""
        if self._choices.draw_bool(self._trouble):
            if self._choices.draw_bool(0.5) or self._processes.count(RELEASER) > MAX_RELEASERS:
                self._processes.kill(process)
                self._note(f"release of {release}: killed")
            else:
                self._abandon(f"during {release.step.value}")
            return
        for _ in range(self._choices.pick((32, 16, 2))):
            if process.finished:
                break
            self._processes.run_round(process)
            if release.step is Step.OPEN and process.next_call == "describe_table":
                self._processes.deliver()

    def _try_again(self, release: RunningRelease) -> None:
        """A step was killed, or a store did not answer: it is repeated, or the release ends."""
        self._lambda.previous_version = self._lambda.code_version  # earlier consumers have ended
        if self._choices.draw_bool(0.3):
            self._abandon(f"during {release.step.value}")
        else:
            self._start_process(release)

    def _abandon(self, when: str) -> None:
        """End a release. A process of it continues. CloudFormation may go back to what was."""
        self._note(f"release of {self._release}: abandoned {when}")
        self._lambda.fault_counts["release abandoned"] += 1
        finishes = self._release is not None and self._release.step is Step.FINISH
        self._release = None
        if self._choices.draw_bool(0.5):
            self._go_back(self._before if finishes else self._api.version, finishes=finishes)

    def _go_back(self, version: tuple[int, int] | None, *, finishes: bool = False) -> None:
        """CloudFormation goes back to the version before, because an update failed."""
        if version is not None:
            code, number = version
            ledger = self._api.create(code, number).ledger
            self._release = RunningRelease(
                code, number, ledger, is_going_back=True, finishes=finishes
            )
            self._lambda.fault_counts["race: going back"] += 1

    def _deploy_consumers(self, release: RunningRelease) -> None:
        """Deploy code and event filters of the stream consumers."""
        running, version = self._lambda, get_code_version(release.found)
        is_first = self._api.consumers == 0
        running.previous_version = version if is_first else running.code_version
        running.code_version = version
        # No other ledger is deployed without a release: it may disable what still answers.
        running.fixed_version = get_fixed_version(release.found)
        self._api.consumers = release.found
        if self.rebuilds is not None:
            self.rebuilds.note_deployment(running.previous_version, version)
        self._deployment.disabled.update(
            (entity, *instance)
            for entity, instances in self._history.get_ledger(
                release.found
            ).disabled_instances.items()
            for instance in instances
        )
        delays = (0.0,) if is_first else FILTER_DELAYS_S
        filters = self._history.get_ledger(release.number)
        self._deployment.change_filters(lambda: self._choices.pick(delays), filters)
        self._judge.judge_consumers(self._history.get_ledger(release.found))
