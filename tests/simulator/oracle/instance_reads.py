"""Judges what readers and releases decide, by what may have been written (rules 25 to 27).

The library decides by the backfill items of the table. This module keeps its own record of what
code may have written, and looks at the base items themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho.errors import BeingBuilt
from daicho.layout.backfill_state import CHECK_KEY, build_backfill_key, render_instance
from daicho.plan import AggregatePlan, EntityPlan, Ledger, ListingPlan, SearchPlan
from daicho.query.instance_chooser import InstanceChooser
from daicho.release.older_writers import OlderWriters
from daicho.storage import keys
from daicho.storage.item_cache import ItemCache
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.rows.plain_rows import Declaration, list_all_declarations
from daicho.testing.oracle.stream_history import is_base_item
from tests.simulator.oracle.instance_contents import Instance, InstanceContents, derives
from tests.simulator.oracle.settled_contents import SettledContents

Name = tuple[str, str]
"""An entity and the name of one of its declarations."""


@dataclass(eq=False)
class ApiInstance:
    """A function instance of the API: the release of its code and of its ledger, and its cache.

    ``older``: announces its writes. ``processes``: its start and its requests.
    """

    code: int
    number: int
    ledger: Ledger
    cache: ItemCache
    older: OlderWriters | None = None
    processes: list[SimulatedProcess] = field(default_factory=list)

    @property
    def version(self) -> tuple[int, int]:
        """The releases of its code and of its ledger."""
        return self.code, self.number

    def list_generations(self, entity: str) -> list[int]:
        """The generation that it writes."""
        return [self.ledger.current_generation(entity).number]

    def __str__(self) -> str:
        return f"code {self.code} with ledger {self.number}"


@dataclass
class ReadJudge:
    """Judges one schedule. ``wrong``: what was wrong, in a line each.

    ``writable``: the generations of each entity that any code may have written, or may still write
    because it was admitted. ``announced``: the newest generation of each entity that a release was
    about to open to writers. ``lacking``: the instances of each entity that lack what expired
    before they existed. ``compares_contents``: whether what is read is compared as far as the
    stream has come, too.
    """

    deployment: SimulatedDeployment
    note: Callable[[str], None]
    wrong: list[str] = field(default_factory=list)
    writable: dict[str, set[int]] = field(default_factory=dict)
    announced: dict[str, int] = field(default_factory=dict)
    lacking: dict[str, frozenset[str]] = field(default_factory=dict)
    compares_contents: bool = False

    def __post_init__(self) -> None:
        self._contents = InstanceContents(self.deployment)
        self._settled = SettledContents(self.deployment, self._contents)

    # --- What may be written -----------------------------------------------------------------

    def add_writers(self, ledger: Ledger, *, released: bool = False) -> None:
        """Code with a ledger may write from now on. ``released``: a release opens the ledger."""
        for entity in ledger.list_types():
            number = ledger.current_generation(entity).number
            self.writable.setdefault(entity, set()).add(number)
            if released:
                newest = ledger.newest_generation(entity).number
                self.announced[entity] = max(self.announced.get(entity, 0), newest)

    def set_rebuilt(self, entity: str, generation: int, lacking: frozenset[str]) -> None:
        """Every item of an entity is of a generation now, and nothing writes an earlier one.

        Code that writes an earlier one later announces this first.
        """
        self.writable[entity] = {generation}
        self.lacking[entity] = lacking

    # --- Releases ----------------------------------------------------------------------------

    def judge_acceptance(self, ledger: Ledger, instances: Iterable[ApiInstance]) -> None:
        """A ledger was accepted: it must have every generation that is stored or written."""
        for entity, number in self._list_needed_generations(instances):
            if not _knows(ledger, entity, number):
                self.report(f"a ledger without {entity} generation {number} is accepted")

    def judge_refusal(self, ledger: Ledger, reason: str) -> None:
        """A ledger was refused: it must lack what may be written, or end what still answers.

        Or it declares again what a deployment has disabled.
        """
        lacks = any(not _knows(ledger, entity, number) for entity, number in self.announced.items())
        returns = any(
            render_instance((each.name, each.since)) in self._read_disabled(entity)
            for entity in ledger.list_types()
            for each in _list_declared(ledger.newest_generation(entity).plan)
        )
        if not lacks and not returns and not any(self._list_early_ends(ledger)):
            self.report(f"refused without a reason: {reason}")

    def judge_refused_start(self, ledger: Ledger) -> None:
        """Code that was rolled back does not start: a newer ledger must have been released."""
        if all(_knows(ledger, entity, number) for entity, number in self.announced.items()):
            self.report("code that was rolled back is refused without a reason")

    def judge_start(self, ledger: Ledger, released: Sequence[Ledger]) -> None:
        """Code that was rolled back starts: no release that it lacks ended what must answer now.

        ``released``: the ledgers of all releases. Those that are recorded are judged.
        """
        for newer in released:
            for entity, generations in newer.entities.items():
                number = generations[-1].number
                state = self.deployment.dynamodb.find(build_backfill_key(entity))
                is_recorded = state is not None and int(state["newest"]["N"]) >= number
                if not is_recorded or _knows(ledger, entity, number):
                    continue
                for end in self._list_early_ends(newer, (entity,)):
                    self.report(f"code starts that lacks a release, which ended {end}")

    def judge_consumers(self, ledger: Ledger) -> None:
        """Stream consumers have a ledger: they must be able to read every record that waits."""
        for entity, number in self._list_stored_generations():
            if not _knows(ledger, entity, number):
                self.report(f"the stream stops: {entity} generation {number} is not known")

    def _list_needed_generations(self, instances: Iterable[ApiInstance]) -> set[tuple[str, int]]:
        written = {
            (entity, number)
            for instance in instances
            for entity in instance.ledger.list_types()
            for number in instance.list_generations(entity)
        }
        return written | self._list_stored_generations()

    def _list_stored_generations(self) -> set[tuple[str, int]]:
        """The entities and generations of base items, and of records that are not handled yet."""
        deployment = self.deployment
        images = [item for _, item in deployment.dynamodb.items]
        for shard in deployment.stream.shards.values():
            position = deployment.mappings["project"].get_checkpoint(shard.id)
            for record in shard.records[position:]:
                change = record["dynamodb"]
                images += [change[name] for name in ("OldImage", "NewImage") if name in change]
        return {
            (image["type"]["S"], int(image["gen"]["N"])) for image in images if is_base_item(image)
        }

    def _list_early_ends(self, ledger: Ledger, entities: Iterable[str] = ()) -> list[Instance]:
        """What a ledger ends although it answers, and nothing that replaces it is complete.

        ``entities``: those that are looked at; all by default.
        """
        ends = []
        for entity in entities or self.writable:
            if entity not in ledger.entities:
                continue
            *earlier, newest = ledger.list_generations(entity)
            declared = {each.name for each in _list_declared(newest.plan)}
            retired = {
                Instance(entity, each.name, each.since)
                for generation in earlier
                for each in _list_retiring(generation.plan)
                if each.name in declared
            }
            oldest = ledger.find_plan(entity, min(self.writable[entity]))
            for instance in sorted(retired, key=str):
                if derives(newest.plan, instance):
                    continue
                followers = [
                    Instance(entity, each.name, each.since)
                    for each in list_all_declarations(newest.plan)
                    if each.name == instance.name
                ]
                if derives(oldest, instance) and not any(
                    self._may_answer(ledger, each) for each in followers
                ):
                    ends.append(instance)
        return ends

    # --- Readers -----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read the base items. What is read then is judged by them."""
        self._contents.refresh()
        if self.compares_contents:
            self._settled.refresh()

    def read(self, instance: ApiInstance, newest: Ledger) -> dict[Name, Declaration]:
        """Let an instance of the API choose what answers each of its queries; returns the choices.

        ``newest``: the newest ledger of which a generation may be written. What it gave up for
        good, before it was complete everywhere, is not judged.
        """
        table = self.deployment.open_table()
        chooser = InstanceChooser(table, instance.ledger, instance.cache)
        chosen: dict[Name, Declaration] = {}
        for entity in instance.ledger.list_types():
            plan = instance.ledger.current_generation(entity).plan
            for declared in _list_declared(plan):
                try:
                    choice = _choose(chooser, plan, declared)
                except BeingBuilt:
                    self._judge_refused_read(instance, plan, declared)
                    continue
                chosen[entity, declared.name] = choice
                read = Instance(entity, choice.name, choice.since)
                if _is_given_up(newest, read):
                    continue
                for item in self._contents.list_lacking_items(read)[:1]:
                    self.report(f"{instance} reads {read}, which lacks {item}")
                if self.compares_contents:
                    for difference in self._settled.find_differences(read)[:1]:
                        self.report(f"{instance} reads {difference}")
        return chosen

    def judge_answers(
        self, before: Mapping[Name, Declaration], after: Mapping[Name, Declaration], newer: Ledger
    ) -> None:
        """Another release answers: whatever was answered and is still asked must be answered."""
        for (entity, name), choice in before.items():
            if (entity, name) in after or entity not in newer.entities:
                continue
            for declared in _list_declared(newer.current_generation(entity).plan):
                if declared.name == name and _ask(declared) == _ask(choice):
                    self.report(f"{entity}.{name} was answered before the release only")

    def find_differences(self, chosen: Mapping[Name, Declaration], newest: Ledger) -> list[str]:
        """How the chosen instances differ from all items, once everything is rolled up.

        ``newest``: see `read`.
        """
        instances = (
            Instance(entity, each.name, each.since) for (entity, _), each in chosen.items()
        )
        return [
            difference
            for instance in instances
            if not _is_given_up(newest, instance)
            for difference in self._contents.find_differences(instance)
        ]

    def report(self, line: str) -> None:
        """Note that something was wrong."""
        if line not in self.wrong:
            self.wrong.append(line)
            self.note(line)

    def _read_disabled(self, entity: str) -> set[str]:
        """What releases have disabled of an entity, even those whose deployment failed."""
        item = self.deployment.dynamodb.find(build_backfill_key(entity)) or {}
        recorded = self.deployment.dynamodb.find(CHECK_KEY) or {}
        prefix = keys.render(entity, "")
        return {
            *item.get("disabled", {}).get("SS", ()),
            *(
                each.removeprefix(prefix)
                for each in recorded.get("instances", {}).get("SS", ())
                if each.startswith(prefix)
            ),
        }

    def _judge_refused_read(
        self, instance: ApiInstance, plan: EntityPlan, declared: Declaration
    ) -> None:
        """A query was refused. If nothing is cached, then nothing that answers it is complete."""
        cache = ItemCache(self.deployment.clock.now)
        chooser = InstanceChooser(self.deployment.open_table(), instance.ledger, cache)
        try:
            _choose(chooser, plan, declared)
        except BeingBuilt:
            for each in (declared, *_list_retiring(plan)):
                candidate = Instance(plan.name, each.name, each.since)
                is_asked = each.name == declared.name and _ask(each) == _ask(declared)
                if is_asked and self._may_answer(instance.ledger, candidate):
                    self.report(f"{instance} refuses {candidate}, which is complete")

    def _may_answer(self, ledger: Ledger, instance: Instance) -> bool:
        """Whether each generation of which there may be items derives an instance.

        One that lacks expired items may not, nor one that a release has disabled, even if its
        deployment failed.
        """
        lacking = self.lacking.get(instance.entity, frozenset())
        disabled = self._read_disabled(instance.entity)
        if render_instance((instance.name, instance.since)) in {*lacking, *disabled}:
            return False
        oldest = min(self.writable.get(instance.entity, {1}))
        return all(
            derives(generation.plan, instance)
            for generation in ledger.list_generations(instance.entity)
            if generation.number >= oldest
        )


def _knows(ledger: Ledger, entity: str, number: int) -> bool:
    return entity in ledger.entities and number <= ledger.entities[entity][-1].number


def _list_declared(plan: EntityPlan) -> Sequence[Declaration]:
    return (*plan.searches, *plan.listings, *plan.aggregates)


def _list_retiring(plan: EntityPlan) -> Sequence[Declaration]:
    retiring = plan.retiring
    return (*retiring.searches, *retiring.listings, *retiring.aggregates)


def _is_given_up(ledger: Ledger, instance: Instance) -> bool:
    """Whether a ledger ends an instance that never retired: a later change superseded it."""
    plans = [generation.plan for generation in ledger.list_generations(instance.entity)]
    return not derives(plans[-1], instance) and not any(
        (each.name, each.since) == (instance.name, instance.since)
        for plan in plans
        for each in _list_retiring(plan)
    )


def _choose(chooser: InstanceChooser, plan: EntityPlan, declared: Declaration) -> Declaration:
    match declared:
        case SearchPlan():
            return chooser.choose_search(plan, declared.name)
        case ListingPlan():
            return chooser.choose_listing(plan, declared.name)
        case AggregatePlan():
            return chooser.choose_aggregate(plan, declared.name)


def _ask(declared: Declaration) -> tuple[Any, ...]:
    """What a query of a declaration asks: equal for declarations that can answer each other's."""
    match declared:
        case SearchPlan():
            return ("search",)
        case ListingPlan():
            return ("listing", declared.partition, declared.order)
        case AggregatePlan():
            measured = (declared.measure, declared.field)
            return ("aggregate", measured, declared.within, declared.by)
