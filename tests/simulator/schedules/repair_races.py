"""Repair runs that meet, one by one, what rules 38 and 39 are about. Each is judged at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daicho.layout.item_keys import parse_derived_partition
from daicho.storage.attributes import Image, get_key
from daicho.stream.shard_items import read_shard
from daicho.testing.faults.code_versions import FIXED_CODE
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.faults.simulated_lambda import INVOCATION_S, MAX_REDRIVES
from tests.simulator.schedules.pause_events import REDRIVE_ALL
from tests.simulator.schedules.repair_events import MAX_STEPS, RUNAWAY, STALE, RepairEvents


class RepairRaces(RepairEvents):
    """Further events, on one deployment. A profile names them by their methods."""

    def mend_tombstone(self) -> None:
        """A tombstone lets any record pass until a run has written it again."""
        self._settle()
        if tombstone := self._pick_stored(lambda row: "GSI2PK" not in row):
            self._change(tombstone, {"seq": self._renumber(tombstone, STALE)})
            self._run_and_judge("mended tombstone")

    def mend_runaway(self) -> None:
        """A row is wrong, and refuses every record. Records are delivered between two writes."""
        self._settle()
        if row := self._pick_stored(lambda row: "GSI2PK" in row):
            wrong = {"seq": self._renumber(row, RUNAWAY), "GSI2SK": {"S": "~"}}
            self._change(row, wrong)
            self._run_and_judge("mended runaway")

    def remove_left_rows(self) -> None:
        """A row that refuses every record is left when its item is deleted.

        The item may be created again, and its tombstones must accept that. A wrong tombstone, which
        a run has left, nothing repairs after its item is deleted.
        """
        self._settle()
        wrong = self._renumbered & self._damaged
        if row := self._pick_stored(
            lambda row: "GSI2PK" in row and parse_derived_partition(row["PK"]["S"]) not in wrong
        ):
            self._change(row, {"seq": self._renumber(row, RUNAWAY)})
            key = parse_derived_partition(row["PK"]["S"])
            item = self._deployment.dynamodb.find(key)
            self._deployment.dynamodb.commit(key, None)
            self._run(self._request)
            if any(self._remove_rows() for _ in range(MAX_STEPS)):
                if self._choices.draw_bool(0.5):
                    self._deployment.dynamodb.commit(key, item)
                    self._handle_everything()
                self._judge("left rows", are_removed=True)

    def mend_set_aside(self) -> None:
        """The touch of an item with a wrong row may be set aside; then a redrive applies it.

        It also writes the tombstones, of which one lets any record pass.
        """
        self._settle()
        if row := self._pick_stored(lambda row: "GSI2PK" in row):
            self._change(row, {"GSI2SK": {"S": "~"}})
            if tombstone := self._pick_stored(lambda row: "GSI2PK" not in row):
                self._change(tombstone, {"seq": self._renumber(tombstone, STALE)})
            self._run_and_judge("set aside")

    # --- What the events share -----------------------------------------------------------------

    def _settle(self) -> None:
        """Let the last run end, and write two versions of an item, of which both are handled."""
        self.end_processes()
        job = self._find_job()
        if job is not None and job.state != "succeeded":
            self._run(self._resume)
        item = self._writer.draw_image()
        for _ in range(2):
            new = {**self._writer.draw_image(item["type"]["S"]), "PK": item["PK"], "SK": item["SK"]}
            fields = self._deployment.entities.find_plan(item).key.fields
            self._deployment.dynamodb.commit(
                get_key(item), new | {name: item[name] for name in fields if name in item}
            )
            self._handle_everything()

    def _handle_everything(self) -> None:
        """Deliver all records, and apply all that are set aside.

        The redrive repeats until no claim is open: the index of claims may lag behind.
        """
        self._lambda.drain()
        for _ in range(MAX_REDRIVES):
            redrive = self._lambda.start_detached("redrive", REDRIVE_ALL)
            redrive.code_version, redrive.seconds = FIXED_CODE, INVOCATION_S
            self._lambda.finish_detached(redrive)
            if not self._has_open_claims():
                return
        self._wrong.append("redrives leave open claims")

    def _has_open_claims(self) -> bool:
        """Whether a shard item, read consistently, has a claim that is not applied."""
        table = self._deployment.open_table()
        shards = (read_shard(table, shard) for shard in self._deployment.stream.shards)
        return any(shard.open for shard in shards)

    def _pick_stored(self, is_chosen: Callable[[Image], bool]) -> Image | None:
        stored = [row for row in self._list_stored() if is_chosen(row)]
        return self._choices.pick(stored) if stored else None

    def _renumber(self, row: Image, number: str) -> Any:
        return {"S": f"{row['seq']['S'].partition('#')[0]}#{number}"}

    def _change(self, row: Image, damage: Image) -> None:
        self._note(f"damage {row['SK']['S']}: {', '.join(damage)}")
        self._deployment.dynamodb.commit(get_key(row), {**row, **damage})
        item = parse_derived_partition(row["PK"]["S"])
        self._damaged.add(item)
        if "GSI2PK" not in row:
            self._renumbered.add(item)

    def _run(self, begin: Callable[[SimulatedProcess], None]) -> None:
        """Request or resume a run, and let it end. Records are delivered before each write."""
        self._start_and_end(begin)
        for _ in range(MAX_STEPS):
            if not self._rebuilds.executions:
                break
            self._rebuilds.run_step(self._deliver_before_write)
        self._check_completeness()
        self._handle_everything()

    def _deliver_before_write(self, process: SimulatedProcess) -> None:
        if process.next_call in ("update_item", "describe_table"):
            self._processes.deliver()

    def _run_and_judge(self, what: str) -> None:
        self._run(self._request)
        self._judge(what)

    def _judge(self, what: str, *, are_removed: bool = False) -> None:
        """After the first records have arrived again, all rows must be right.

        Nothing is judged if the last run left an item, because its code could not derive it.
        ``are_removed``: rows of items that do not exist were removed, so none may be there.
        """
        job = self._find_job()
        if job is None or job.state != "succeeded" or job.left:
            return
        self._fault_counts[f"race: {what}"] += 1
        self._repeat_first()
        expected = self._writer.recompute().compute_rows()
        stored = {
            key: row
            for key, row in self._deployment.dynamodb.items
            if "#~" in key.pk and "GSI2PK" in row
            if are_removed or parse_derived_partition(key.pk) in self._writer.items
        }
        for key in expected.keys() | stored.keys():
            if _describe(stored.get(key)) != _describe_expected(expected.get(key)):
                self._wrong.append(f"{what}: {key} is {stored.get(key)}")


def _describe(row: Image | None) -> list[str | None] | None:
    names = ("GSI2PK", "GSI2SK", "copy")
    return None if row is None else [row.get(name, {}).get("S") for name in names]


def _describe_expected(row: tuple[str | None, ...] | None) -> list[str | None] | None:
    return None if row is None else list(row)
