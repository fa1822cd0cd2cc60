"""Checks what rebuilds and purges write: each touch, and what is missing or left at the end.

See rules 29, 32 and 34.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from greenlet import greenlet

from daicho.derive.contributions import Amount
from daicho.layout.backfill_state import BACKFILL, BackfillState, is_complete
from daicho.rebuild.job import JOB_KEY
from daicho.rebuild.kept_phase import ROLLUP_WAIT_S
from daicho.release.states import read_stage_states
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.tally import slots, total_items
from daicho.testing.aws.memory_dynamodb import MAX_LAG
from daicho.testing.faults.code_versions import MARK, POISON_FOR_BOTH, is_fixed
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.rows.plain_amounts import add_exactly, negate_exactly
from daicho.testing.oracle.stream_history import is_base_item
from tests.simulator.oracle.instance_contents import Instance, InstanceContents
from tests.simulator.oracle.instance_reads import ReadJudge
from tests.simulator.oracle.settled_contents import SettledContents, has_older_image
from tests.simulator.oracle.touched_items import TouchedItems

JOBS = "jobs"
"""The process of a step of a rebuild."""


class CompletionCheck:
    """Checks the backfill items of a table as they change. The judge keeps what is wrong.

    At the moment at which the oldest generation is raised, no base item is of an older one, no
    record of such an item waits, and each instance that is complete from now on equals the
    recomputation wherever the stream has come.
    """

    def __init__(
        self, deployment: SimulatedDeployment, judge: ReadJudge, note: Callable[[str], None]
    ) -> None:
        self._deployment = deployment
        self._judge = judge
        self._note = note
        self._contents = InstanceContents(deployment)
        self._settled = SettledContents(deployment, self._contents)
        self._touched = TouchedItems(deployment)
        self._totals = SwitchedTotals(deployment)
        deployment.dynamodb.max_lag_s = ROLLUP_WAIT_S
        self._count = 0
        self._changed: dict[ItemKey, int] = {}
        self._began: dict[SimulatedProcess, int] = {}
        self._jobs: dict[SimulatedProcess, Image] = {}

    def note_step(self, process: SimulatedProcess) -> None:
        """A step of a rebuild begins to read items; it may not see the last changes."""
        self._began[process] = self._count + 1 - MAX_LAG
        self._jobs[process] = self._deployment.dynamodb.find(JOB_KEY) or {}

    def check(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Check a change of an item."""
        process = get_running_process()
        self._count += 1
        by_rebuild = process is not None and process.name == JOBS
        self._totals.note(key, old, new, by_rebuild=by_rebuild)
        if not by_rebuild:
            self._changed[key] = self._count
        elif process is not None and "gen" in (new or old or {}):
            self._check_finding(key, process)
            self._check_touch(key, old, new, process)
        if key.pk != BACKFILL or key.sk.startswith(keys.DELIMITER) or not (old and new):
            return
        (entity,) = keys.parse(key.sk)
        before, after = BackfillState.parse(entity, old), BackfillState.parse(entity, new)
        if after.oldest < before.oldest:
            self._judge.writable.setdefault(entity, set()).add(after.oldest)
        if after.purged > before.purged:
            self._deployment.fault_counts["purge completed"] += 1
            for line in self.find_left():
                self._judge.report(line)
        if after.oldest > before.oldest:
            # Outside of the process that writes: its code may not be able to process all images.
            greenlet(self._check_completion).switch(before, after)

    def find_left(self) -> list[str]:
        """What is left of purged instances (rule 34), in a line each."""
        left = []
        for key, item in self._deployment.dynamodb.items:
            if key.pk == BACKFILL and not key.sk.startswith(keys.DELIMITER):
                (entity,) = keys.parse(key.sk)
                for each in sorted(BackfillState.parse(entity, item).purged):
                    name, _, since = each.rpartition("@")
                    left += self._list_items_of(Instance(entity, name, int(since)))
        return left

    def find_wrong_items(self) -> list[str]:
        """The items of complete entities with a wrong expiry or no reservation, in a line each."""
        wrong = self._touched.list_unreserved()
        for entity in read_stage_states(self._deployment.open_table()).states:
            wrong += self._touched.list_wrong_lifetimes(entity)
        return wrong

    def _list_items_of(self, instance: Instance) -> list[str]:
        return [
            f"{instance} is purged, but {key} is left"
            for key, _ in self._deployment.dynamodb.items
            if ("~" in key.pk and instance.owns_row(key))
            or ("#+" in key.pk and instance.owns_tally(key.pk))
        ]

    def _check_finding(self, key: ItemKey, process: SimulatedProcess) -> None:
        """A pass has recorded that it has found something before it writes an item (rule 30)."""
        before, job = self._jobs[process], self._deployment.dynamodb.find(JOB_KEY) or {}
        if job["id"] == before["id"] and int(job["finding_pass"]["N"]) < int(before["passes"]["N"]):
            self._judge.report(f"a touch of {key} is not recorded as found")

    def _check_touch(
        self, key: ItemKey, old: Image | None, new: Image | None, process: SimulatedProcess
    ) -> None:
        """A rebuild raises the generation of an item that exists."""
        if old is None or new is None or not self._touched.is_right_touch(old, new):
            self._judge.report(f"a touch changes {key} from {old} to {new}")
        elif int(new["gen"]["N"]) <= int(old["gen"]["N"]):
            self._judge.report(f"a touch lowers the generation of {key}")
        elif (
            self._changed.get(key, 0) < self._began[process]
            and new.get(MARK, {}).get("S", "").startswith(POISON_FOR_BOTH)
            and not is_fixed(process.code_version)
        ):
            self._judge.report(f"a touch of {key}, which the new code cannot derive")

    def _check_completion(self, before: BackfillState, state: BackfillState) -> None:
        entity, oldest = state.entity, state.oldest
        self._note(f"{entity} is complete from generation {oldest} on")
        self._deployment.fault_counts["rebuild completed"] += 1
        for key, item in self._deployment.dynamodb.items:
            if not is_base_item(item) or item["type"]["S"] != entity:
                continue
            if int(item["gen"]["N"]) < oldest:
                self._judge.report(f"{key} is of generation {item['gen']['N']}, not {oldest}")
        for line in (*self._touched.list_wrong_lifetimes(entity), *self._touched.list_unreserved()):
            self._judge.report(f"{entity} is complete, but {line}")
        for record in self._settled.list_waiting_records():
            if has_older_image(record, entity, oldest):
                number = record["dynamodb"]["SequenceNumber"]
                self._judge.report(f"record {number} of an older {entity} is not handled")
        self._judge.set_rebuilt(entity, oldest, state.lacking)
        self._contents.refresh()
        self._settled.refresh(entity, oldest)
        ledger = self._deployment.entities.ledger
        plan = ledger.find_plan(entity, oldest)
        rows = frozenset(each.row for each in self._contents.list_kept_items(entity))
        reserved = {(unique.name, unique.since) for unique in plan.derived_uniques}
        for name, since in sorted(plan.derived_instances - reserved):
            if is_complete((name, since), state, ledger):
                instance = Instance(entity, name, since)
                self._deployment.filled[entity, name, since] = rows
                differences = self._settled.find_differences(instance)
                if not is_complete((name, since), before, ledger):
                    differences += self._totals.find_differences(instance)
                for difference in differences[:1]:
                    self._judge.report(f"{entity} is complete, but {difference}")


class SwitchedTotals:
    """Whether totals include, when readers switch to an instance, what was counted in it before.

    A reader of a total sees no slot. From the moment at which a rebuild was proved, it notes what
    is counted: `note` is called with each change of an item. At the switch, a total must be what
    the slots held at that moment, with all that the rebuild has added from the archive since, and
    any choice of what the stream has counted later.
    """

    def __init__(self, deployment: SimulatedDeployment) -> None:
        self._deployment = deployment
        self._sums: defaultdict[str, Amount] = defaultdict(Amount)
        self._later: defaultdict[str, list[Amount]] = defaultdict(list)

    def note(self, key: ItemKey, old: Image | None, new: Image | None, *, by_rebuild: bool) -> None:
        """Note a change of an item."""
        if key == JOB_KEY and _is_proved(new) and not _is_proved(old):
            for tally, added in self._later.items():
                for amount in added:
                    self._sums[tally] = add_exactly(self._sums[tally], amount)
            self._later.clear()
        elif "#+" in key.pk:
            change = add_exactly(_read_amount(key, new), negate_exactly(_read_amount(key, old)))
            if by_rebuild:
                self._sums[key.pk] = add_exactly(self._sums[key.pk], change)
            elif change:
                self._later[key.pk].append(change)

    def find_differences(self, instance: Instance) -> list[str]:
        """The totals of an instance that lack something, in a line each."""
        wrong = []
        for tally in sorted({*self._sums, *self._later}):
            if not instance.owns_tally(tally):
                continue
            possible = {self._sums[tally]}
            for amount in self._later[tally]:
                possible |= {add_exactly(each, amount) for each in possible}
            total = self._deployment.dynamodb.find(total_items.build_total_key(tally))
            self._deployment.fault_counts["total compared at the switch"] += 1
            if slots.read_amount(total) not in possible:
                wrong.append(f"the total of {tally} is {slots.read_amount(total)}")
        return wrong


def _is_proved(job: Image | None) -> bool:
    return job is not None and job["phase"] == {"S": "fill"}


def _read_amount(key: ItemKey, image: Image | None) -> Amount:
    """What a slot holds, or the base of a total."""
    return slots.read_amount(image) if slots.is_slot(key.sk) else total_items.read_base(image)
