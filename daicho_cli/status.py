"""``daicho status``: the instances of every entity in a stage, and which of them answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from daicho.layout.backfill_state import BackfillState
from daicho.operations.stack_state import describe_gap
from daicho.plan import Ledger
from daicho.rebuild.obstacles import count_set_aside
from daicho.rebuild.recounts import list_recounts, render_aggregate
from daicho.release.instance_states import InstanceState, InstanceStatus, list_instance_states
from daicho.release.states import StageStates
from daicho.stream.gap import StreamGap, read_gap
from daicho.tally.slots import TallyName
from daicho_cli.aws import find_stage
from daicho_cli.options import LOCAL, AsJson, Endpoint, Region, StackFile, Stage, TableOfStage
from daicho_cli.project import load_ledger
from daicho_cli.terminal import INCOMPLETE, build_table, end_command, end_on_errors, print_json

NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True)
class EntityStatus:
    """An entity in a stage and in the checkout.

    Args:
        entity: its name.
        deployed: the newest generation that the stage has; 0 if it does not have the entity, None
            if the table has no backfill item of it.
        oldest: the oldest generation that its items may have; None as ``deployed``.
        checkout: the generation that the checkout writes; 0 if it does not declare the entity.
        instances: those that the stage has.
        progress: the percentage of a rebuild; None if none is under way.
    """

    entity: str
    deployed: int | None
    oldest: int | None
    checkout: int
    instances: tuple[InstanceStatus, ...] = ()
    progress: int | None = None

    def find_percent(self, instance: InstanceStatus) -> int | None:
        """How much of the items an instance includes; None if it is not known, or disabled."""
        if instance.state in (InstanceState.DISABLED, InstanceState.PURGED):
            return None
        states = (InstanceState.BUILDING, InstanceState.UNPROVEN, InstanceState.APPLIED)
        if instance.state in states:
            return self.progress
        return 100

    @property
    def difference(self) -> str:
        """How the stage differs from the checkout, in a sentence; empty if it does not."""
        name, deployed = self.entity, f"the stage has generation {self.deployed}"
        if self.deployed is None:
            return f"{name}: the table has no backfill item, so its generation is unknown"
        if not self.deployed:
            return f"{name}: this checkout declares it, and the stage does not have it"
        if not self.checkout:
            return f"{name}: {deployed}, this checkout does not know it"
        is_equal = self.deployed == self.checkout
        return "" if is_equal else f"{name}: {deployed}, this checkout generation {self.checkout}"


def list_entity_statuses(ledger: Ledger, stage: StageStates) -> list[EntityStatus]:
    """Every entity of the checkout or of the stage, in order of name.

    ``ledger``: of the checkout. The instances of a generation that it lacks cannot be listed.
    """
    statuses = []
    for entity in sorted({*ledger.entities, *stage.states}):
        state = stage.states.get(entity)
        checkout = ledger.current_generation(entity).number if entity in ledger.entities else 0
        if state is None and (stage.is_recorded or stage.is_empty):
            status = EntityStatus(entity, 0, 0, checkout)
        elif state is None:
            instances = _list_instances(entity, None, checkout, ledger)
            status = EntityStatus(entity, None, None, checkout, instances)
        else:
            newest, oldest = state.newest, state.oldest
            instances = _list_instances(entity, state, newest, ledger)
            status = EntityStatus(entity, newest, oldest, checkout, instances, state.progress)
        statuses.append(status)
    return statuses


def _list_instances(
    entity: str, state: BackfillState | None, generation: int, ledger: Ledger
) -> tuple[InstanceStatus, ...]:
    """The instances of a generation; none if the ledger lacks it."""
    for each in ledger.list_generations(entity) if entity in ledger.entities else ():
        if each.number == generation:
            return tuple(list_instance_states(each.plan, state, ledger))
    return ()


COLUMNS = ("instance", "kind", "since generation", "state", "included")


def print_statuses(
    table_name: str,
    statuses: Sequence[EntityStatus],
    waiting: Sequence[str] = (),
    console: Console | None = None,
    set_aside: Mapping[str, int] = NOTHING,
    gap: StreamGap | None = None,
) -> None:
    """Print the instances of each entity, and below them what differs from the checkout.

    ``waiting``: the tallies that wait for a recount. ``set_aside``: the records that are set aside,
    by entity; "" is of those that could not be read. ``gap``: in which records were lost.
    """
    out = console or Console()
    if gap is not None and gap.is_open:
        line = (
            f"Records of the stream are lost since {gap.begin or 'an unknown time'}: "
            f"{'; '.join(gap.reasons)}. What follows from them is missing: daicho recover."
        )
        out.print(line, highlight=False, soft_wrap=True)
    table = build_table(f"Instances in {table_name}", COLUMNS)
    for status in statuses:
        for instance in status.instances:
            name = f"{status.entity}.{instance.declaration}@{instance.since}"
            percent = status.find_percent(instance)
            shown = "-" if percent is None else f"{percent} %"
            table.add_row(name, instance.kind, str(instance.since), instance.state.value, shown)
        if status.instances:
            table.add_section()
    if table.row_count:
        out.print(table)
    else:
        out.print(f"{table_name} has no instances.", highlight=False)
    for status in statuses:
        if status.difference:
            out.print(status.difference, highlight=False, soft_wrap=True)
    for name, count in _count_tallies(waiting).items():
        line = f"{name}: {count} tallies wait for a recount"
        out.print(line, highlight=False, soft_wrap=True)
    for entity, count in sorted(set_aside.items()):
        line = (
            f"{entity or 'unknown entity'}: {count} records are set aside. Until daicho redrive "
            f"applies or dismisses them, no instance of {entity or 'any entity'} that is building "
            "becomes complete, and the times of figures stay."
        )
        out.print(line, highlight=False, soft_wrap=True)


def build_document(
    table_name: str,
    statuses: Sequence[EntityStatus],
    waiting: Sequence[str] = (),
    set_aside: Mapping[str, int] = NOTHING,
    gap: StreamGap | None = None,
) -> dict[str, Any]:
    """The instances as plain JSON values. ``percent`` is None if it is not known.

    ``recounts``: the number of tallies that wait for a recount, by instance. ``set_aside``: see
    `print_statuses`. ``gap``: see `daicho.operations.stack_state.describe_gap`.
    """
    return {
        "table": table_name,
        "recounts": _count_tallies(waiting),
        "set_aside": dict(sorted(set_aside.items())),
        "gap": None if gap is None else describe_gap(gap),
        "entities": [
            {
                "entity": status.entity,
                "deployed": status.deployed,
                "oldest": status.oldest,
                "checkout": status.checkout or None,
                "instances": [
                    {
                        "declaration": instance.declaration,
                        "kind": instance.kind,
                        "since": instance.since,
                        "state": instance.state.value,
                        "answers": instance.state.answers,
                        "percent": status.find_percent(instance),
                    }
                    for instance in status.instances
                ],
            }
            for status in statuses
        ],
    }


def _count_tallies(waiting: Sequence[str]) -> dict[str, int]:
    """The number of tallies that wait for a recount, by instance: ``User.by_country@2``."""
    counts = Counter(
        f"{render_aggregate(tally)}@{TallyName.parse(tally).since}" for tally in waiting
    )
    return dict(sorted(counts.items()))


def status(
    stage: Stage = None,
    table: TableOfStage = None,
    region: Region = None,
    endpoint: Endpoint = None,
    stack: StackFile = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Print each instance of each entity in a stage, with its state.

    The lock file lists the instances, and the table shows which of them include every item. Exit
    code 1: nothing is deployed, or the command could not run.
    """
    with end_on_errors("status", INCOMPLETE):
        ledger = load_ledger()
        deployed = find_stage(stack, table=table, stage=stage, region=region, endpoint=endpoint)
        waiting = list(list_recounts(deployed.table)) if deployed else []
        set_aside = count_set_aside(deployed.table) if deployed else NOTHING
        gap = read_gap(deployed.table) if deployed else None
    if deployed is None:
        end_command("there is no table: nothing is deployed", INCOMPLETE)
    statuses = list_entity_statuses(ledger, deployed.states)
    if as_json:
        print_json(build_document(deployed.table.name, statuses, waiting, set_aside, gap))
    else:
        print_statuses(deployed.table.name, statuses, waiting, set_aside=set_aside, gap=gap)
