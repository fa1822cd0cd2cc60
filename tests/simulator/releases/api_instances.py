"""The function instances of the API: several releases of its code write and read at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from daicho.layout.backfill_state import build_backfill_key
from daicho.plan import Ledger
from daicho.release.refusals import ReleaseRefusedError
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.item_cache import ItemCache
from daicho.testing.choices import Choices
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.stream_history import list_expired_items
from daicho.testing.schedules.base_item_writer import LIFETIME_S, BaseItemWriter
from tests.simulator.faults.waiting_processes import WaitingProcesses
from tests.simulator.oracle.instance_reads import ApiInstance, ReadJudge
from tests.simulator.releases.api_requests import ApiRequests, InstanceClocks, build_older_writers
from tests.simulator.releases.item_writes import write_item
from tests.simulator.schedules.code_history import CodeHistory

STARTER = "starter"
"""The process of an instance that starts, and may have to wait before it writes."""
ACTIONS = ("put", "put", "put", "delete", "expire")
MAX_INSTANCES = 4


@dataclass(eq=False)
class ApiInstances:
    """The instances that run.

    ``names``: the entities that they write. ``version``: the releases of the code and of the
    ledger of the deployed API; None before the first deployment. ``consumers``: the release of the
    stream consumers. ``opened``: the newest release that was about to open its ledger to writers.
    """

    history: CodeHistory
    names: Sequence[str]
    deployment: SimulatedDeployment
    processes: WaitingProcesses
    writer: BaseItemWriter
    choices: Choices
    judge: ReadJudge
    note: Callable[[str], None]
    version: tuple[int, int] | None = None
    consumers: int = 0
    opened: int = 1
    running: list[ApiInstance] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.requests = ApiRequests(
            self.processes, self.writer, self.choices, self.judge, self.note
        )

    def deploy(self, code: int, number: int) -> None:
        """Deploy the API. Instances of the version before continue, earlier ones have ended."""
        self.running = [each for each in self.running if each.version == self.version]
        if self.running and self.version != (code, number):
            self.processes.simulated_lambda.fault_counts["API versions at once"] += 1
        self.version = (code, number)
        for _ in range(self.choices.pick((1, 2))):
            self.start()
        started = [each for each in self.running if each.version == self.version]
        if started and self.choices.draw_bool(0.5):
            self.write(started[-1])
            self.read()

    def start(self) -> None:
        """An instance of the deployed version starts, if there is one."""
        if self.version is None or len(self.running) >= MAX_INSTANCES:
            return
        version, instance = self.version, self.create(*self.version)
        self.judge.add_writers(instance.ledger)
        clock = self.deployment.clock
        clocks = InstanceClocks(clock, self.choices.pick((False, True)), instance.processes)
        instance.older = older = build_older_writers(self.processes, instance.ledger, clocks)
        if not older.is_needed:
            self._add(instance)
            return

        def work(process: SimulatedProcess) -> None:
            try:
                older.announce()
            except ReleaseRefusedError as error:
                self.note(f"{instance} does not start: {error}")
                self.judge.judge_refused_start(instance.ledger)
                return
            self.judge.judge_start(instance.ledger, self.history.ledgers)
            if version == self.version:
                self._add(instance)

        self.read()  # what the others know now may be what they use for a while
        process = self.processes.start(STARTER, work)
        instance.processes.append(process)
        match self.choices.pick(("starts", "waits", "starts", "begins")):
            case "starts":
                while not process.finished:
                    self.processes.run_round(process)
            case "waits":
                self.processes.run_round(process, len(instance.ledger.written) + 1)

    def create(self, code: int, number: int) -> ApiInstance:
        """An instance that has read nothing yet."""
        ledger = self.history.build_ledger(code, number)
        if ledger is None:
            raise AssertionError(f"code {code} does not load ledger {number}, but is deployed")
        return ApiInstance(code, number, ledger, ItemCache(self.deployment.clock.now))

    def end_one(self) -> None:
        """An instance ends, if one runs."""
        if self.running:
            ended = self.choices.pick(self.running)
            self.running.remove(ended)
            self.note(f"an instance ends: {ended}")

    def write(self, instance: ApiInstance) -> None:
        """Put an item over few keys, or remove one, as the code of an instance does."""
        names = [name for name in self.names if name in instance.ledger.entities]
        if not names:
            return
        items = {key: item for key, item in self.writer.items.items() if item["type"]["S"] in names}
        action = self.choices.pick(ACTIONS)
        if action == "put" or not items:
            self.put(instance, self.choices.pick(names))
        else:
            key = self.choices.pick(sorted(items))
            if action == "expire" and "ttl" in items[key]:
                self.deployment.clock.advance(LIFETIME_S + 1)
                self.writer.expire(key)
            else:
                self._commit(instance, key, None)
        self.note(f"{instance}: {action}")

    def put(self, instance: ApiInstance, entity: str) -> None:
        """Put an item of the generation that an instance writes."""
        self.writer.list_generations = instance.list_generations
        item = self.writer.draw_image(entity)
        self._commit(instance, get_key(item), item)
        self.judge.judge_consumers(self.history.get_ledger(self.consumers))

    def request(self) -> None:
        """A request begins at an instance that runs, or one that has begun goes on to its end."""
        if not self.running:
            return
        if self.requests.list_waiting() and self.choices.draw_bool(0.4):
            waiting = self.choices.pick(self.requests.list_waiting())
            while not waiting.finished:
                self.processes.run_round(waiting)
            return
        instance = self.choices.pick(self.running)
        names = [name for name in self.names if name in instance.ledger.entities]
        process = self.requests.begin(instance, self.choices.pick(names)) if names else None
        if process is not None:
            for _ in range(self.choices.pick((40, 0, 1, 3))):
                if not process.finished:
                    self.processes.run_round(process, 1)

    def end_unaware(self) -> None:
        """The deployment of the API is over: instances that do not know its ledger have ended.

        Requests that they have begun continue.
        """
        if self.version is not None:
            self.running = [each for each in self.running if each.number == self.version[1]]

    def read(self) -> None:
        """Every instance chooses what answers its queries."""
        newest = self.refresh()
        for instance in self.running:
            self.judge.read(instance, newest)

    def judge_successor(self, code: int, number: int) -> None:
        """Compare the answers of the API with those of the version that is deployed next."""
        if self.version is None:
            return
        newest = self.refresh()
        before = self.judge.read(self.create(*self.version), newest)
        successor = self.create(code, number)
        self.judge.judge_answers(before, self.judge.read(successor, newest), successor.ledger)

    def rebuild(self) -> None:
        """Touch the items of entities of which nothing can write an older generation.

        It is done at once, and then the oldest generation is raised. `Rebuilds` plays the library's
        own rebuild.
        """
        if self.version is None or self.processes.count(STARTER):
            return
        ledger = self.history.get_ledger(self.version[1])
        for entity in ledger.list_types():
            newest = ledger.newest_generation(entity).number
            written = {
                number
                for instance in (*self.running, self.create(*self.version))
                if entity in instance.ledger.entities
                for number in instance.list_generations(entity)
            }
            if written == {newest} == {self.judge.announced.get(entity)}:
                self._rebuild_entity(entity, newest)

    def refresh(self) -> Ledger:
        """Read the base items; returns the newest ledger that a release was about to open."""
        self.judge.refresh()
        return self.history.get_ledger(self.opened)

    def _commit(self, instance: ApiInstance, key: ItemKey, item: Image | None) -> None:
        """Write an item at once, as an instance does whose requests meet no others."""
        if instance.older is not None and instance.older.is_needed:
            self.requests.finish(instance)
            process = self.requests.send(instance, key, (item,), f"write {key}")
            while not process.finished:
                self.processes.run_round(process)
        else:
            now = self.deployment.clock.now()
            write_item(self.deployment.open_table(), instance.ledger, key, item, now)

    def _add(self, instance: ApiInstance) -> None:
        self.running.append(instance)
        self.note(f"an instance starts: {instance}")

    def _rebuild_entity(self, entity: str, newest: int) -> None:
        dynamodb = self.deployment.dynamodb
        for key, item in self.writer.items.items():
            if item["type"]["S"] == entity and int(item["gen"]["N"]) < newest:
                dynamodb.commit(key, {**item, "gen": {"N": str(newest)}})
        key = build_backfill_key(entity)
        state = dynamodb.find(key)
        expired = (each.image for each in list_expired_items(self.deployment.stream))
        if state is None or any(image["type"]["S"] == entity for image in expired):
            return  # what expired before is still counted, and cannot be touched
        if state["oldest"] != {"N": str(newest)}:
            self.processes.simulated_lambda.fault_counts["rebuild"] += 1
            self.note(f"{entity} is rebuilt as generation {newest}")
        dynamodb.commit(key, {**state, "oldest": {"N": str(newest)}})
        self.judge.set_rebuilt(entity, newest, frozenset())
