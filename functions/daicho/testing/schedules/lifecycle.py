"""Releases of ledgers and code in both directions, while code of several releases runs.

A release goes through `daicho.release.release.Release`, between whose steps it may end. Code is
rolled back with the newer ledger, and an earlier ledger is released. Function instances of the API
write the generation of their code, and choose the instances of declarations that answer (rules 25
to 27).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from daicho.errors import UnavailableError
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.plan import Ledger
from daicho.release.refusals import ReleaseRefusedError
from daicho.release.release import Release
from daicho.release.states import (
    StageStates,
    build_deployed_update,
    build_record_update,
    list_filtered_types,
    read_stage_states,
)
from daicho.storage.item_key import ItemKey, get_key
from daicho.storage.protocols import apply_update
from daicho.stream.heartbeat_watcher import HeartbeatWatcher
from daicho.testing.choices import Choices
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.faults.simulated_lambda import SimulatedLambda
from daicho.testing.faults.waiting_processes import WaitingProcesses
from daicho.testing.oracle.completions import CompletionCheck
from daicho.testing.oracle.instance_reads import ReadJudge
from daicho.testing.schedules.api_instances import ApiInstances
from daicho.testing.schedules.base_item_writer import BaseItemWriter
from daicho.testing.schedules.code_history import CodeHistory, get_code_version, get_fixed_version
from daicho.testing.schedules.filter_spread import FILTER_DELAYS_S
from daicho.testing.schedules.profile import Profile
from daicho.testing.schedules.rebuilds import REBUILD_PROCESSES, Rebuilds
from daicho.testing.stack_settings import TABLE

RELEASER = "releaser"
"""The process of a step of a release."""
MAX_RELEASERS = 2
MAX_TRIES = 12
"""Steps of the last release, with those that are repeated."""
PROCESS_S = (900.0, 300.0, 150.0)
SHORT_PROCESS_S = (250.0, 200.0, 130.0)
"""With rebuilds: each 10 seconds of a process that waits for heartbeats take long to play."""
WRITES = (8, 14, 20)
TROUBLE = (0.05, 0.0, 0.2)
"""The share of turns in which a release, or a process of it, ends early."""
LESS_TROUBLE = (0.0, 0.05, 0.0, 0.2)
"""The same with rebuilds: they begin once a release is complete."""
FILTER_SPREAD_S = (90.0, 90.0, 0.0)
"""Seconds that a release waits before its first heartbeat."""
PAUSES_S = (0.0, 1.0, 0.5, 30.0)
"""Seconds between two writes: also fewer than a backfill item is cached."""
LASTING_KEY = ItemKey("other", "-")
"""The key of an item of another tenant: a table without any item would count as new."""


class Step(Enum):
    """The steps of a release, in this order."""

    CHECK = "check"
    CONSUMERS = "stream consumers"
    OPEN = "open to writers"
    API = "API"
    FINISH = "finish"


NEXT = {Step.CHECK: Step.CONSUMERS, Step.OPEN: Step.API}
"""What follows a step that a process takes."""


@dataclass(eq=False)
class RunningRelease:
    """A release that has not ended: the releases of its code and ledger, and its next step.

    ``process``: of the step. ``outcome``: what it ended with, or empty. ``is_going_back``: whether
    CloudFormation rolls back another release. ``found``: the ledger that the functions get then.
    ``finishes``: whether it has the last step. A release that goes back has it only if the other
    one had begun it.
    """

    code: int
    number: int
    ledger: Ledger
    step: Step = Step.CHECK
    process: SimulatedProcess | None = None
    outcome: str = ""
    is_going_back: bool = False
    found: int = 0
    finishes: bool = True

    def __str__(self) -> str:
        going = ", going back" if self.is_going_back else ""
        return f"code {self.code} with ledger {self.number}{going}"


class Lifecycle:
    """The events of releases, on one deployment. A profile names them by their methods.

    ``names``: the entities that are written.
    """

    def __init__(
        self,
        profile: Profile,
        history: CodeHistory,
        names: Sequence[str],
        deployment: SimulatedDeployment,
        simulated_lambda: SimulatedLambda,
        writer: BaseItemWriter,
        choices: Choices,
        note: Callable[[str], None],
    ) -> None:
        self._history = history
        self._deployment = deployment
        self._lambda = simulated_lambda
        self._choices = choices
        self._note = note
        self._judge = ReadJudge(deployment, note)
        seconds = SHORT_PROCESS_S if profile.settle_s else PROCESS_S
        self._processes = WaitingProcesses(deployment, simulated_lambda, choices, seconds)
        self._api = ApiInstances(
            history, names, deployment, self._processes, writer, choices, self._judge, note
        )
        self.rebuilds: Rebuilds | None = None
        if profile.settle_s:
            completions = CompletionCheck(deployment, self._judge, note)
            deployment.observers.append(completions.check)
            self._judge.compares_contents = True
            self.rebuilds = Rebuilds(
                deployment,
                simulated_lambda,
                self._processes,
                choices,
                note,
                settle_s=profile.settle_s,
                disturb=self.request,
                note_step=completions.note_step,
            )
        self._release: RunningRelease | None = None
        self._before: tuple[int, int] | None = None
        self._runs = 0
        self._writes_left = choices.pick(WRITES, "writes")
        self._trouble = choices.pick(LESS_TROUBLE if profile.settle_s else TROUBLE, "trouble")
        if self.rebuilds is not None:
            self._begin_deployed(names)
        elif choices.pick((False, False, True), "has items"):
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
        if self._api.version is None or (self.rebuilds is not None and self._release is not None):
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

    def request(self) -> None:
        """A request to the API begins; all instances read, and perhaps time passes."""
        if self._writes_left:
            self._writes_left -= 1
            self._api.request()
            self._api.read()
            self._deployment.clock.advance(self._choices.pick(PAUSES_S))

    def work(self) -> None:
        """A rebuild continues, if one runs; otherwise a release, which may start one."""
        if self.rebuilds is not None and self.rebuilds.executions:
            self.rebuilds.step()
        else:
            self.release()

    def look(self) -> None:
        """All instances read."""
        self._api.read()

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

    def _begin_deployed(self, names: Sequence[str]) -> None:
        """The first release is deployed, and the API has written some items."""
        api, dynamodb = self._api, self._deployment.dynamodb
        ledger, now = self._history.get_ledger(1), self._deployment.clock.now()
        for state in StageStates({}, False, True).plan_release(ledger).values():
            item = state.to_item()
            dynamodb.commit(get_key(item), item)
        table = self._deployment.open_table()
        apply_update(table, build_record_update("1", list_filtered_types(ledger)))
        apply_update(table, build_deployed_update(now))
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
        if self.rebuilds is not None:
            self._processes.kill_all(RELEASER, *REBUILD_PROCESSES)

    def finish(self) -> None:
        """Without faults, end the last deployment and all rebuilds."""
        if self.rebuilds is None or self._api.version is None:
            return
        number, self._trouble = max(2, self._find_recorded()), 0.0
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
        for line in self.rebuilds.finish():
            self._judge.report(line)

    def _find_recorded(self) -> int:
        """The first ledger that has every generation that a release has recorded."""
        states = read_stage_states(self._deployment.open_table()).states
        for number, ledger in enumerate(self._history.ledgers, 1):
            if all(
                entity in ledger.entities
                and ledger.newest_generation(entity).number >= state.newest
                for entity, state in states.items()
            ):
                return number
        return self._history.newest

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

    def _begin_release(self) -> None:
        deployed, newest = self._api.consumers, self._history.newest
        if deployed == 0:  # also a table that begins with several generations
            candidates = [(2, 2), (1, 1), (2, 2), (1, 2), (newest, newest)]
        else:
            following, earlier = min(deployed + 1, newest), max(deployed - 1, 1)
            code = self._api.version[0] if self._api.version else deployed
            candidates = [
                (following, following),
                (following, following),
                (max(code - 1, 1), deployed),
                (code, following),
                (earlier, earlier) if self.rebuilds is None else (following, following),
                (newest, newest),
            ]
        if self.rebuilds is not None and self._api.version not in (None, (deployed, deployed)):
            # What rolled-back code reads may end only once newer code is deployed again.
            candidates = [(deployed, deployed)]
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
        run, spread_s = f"run{self._runs}", self._choices.pick(FILTER_SPREAD_S)

        def work(process: SimulatedProcess) -> None:
            dependencies = self._processes.build_dependencies(process)
            table = dependencies.table(TABLE)
            describer = self._deployment.build_stream_describer(process)
            watcher = HeartbeatWatcher(table, describer, now=dependencies.now)
            prepared = Release(
                table, watcher, release.ledger, spread_s, lambda: release.is_going_back
            )
            budget, source = make_retry_budget(process, dependencies), str(release.number)
            try:
                if is_finish and self.rebuilds is not None:
                    self.rebuilds.finish_deployment(process, release.ledger)
                elif is_check:
                    release.found = int(prepared.check(source, budget))
                else:
                    prepared.open_to_writers(run, source, budget)
            except ReleaseRefusedError as error:
                self._lambda.fault_counts["release refused"] += 1
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
