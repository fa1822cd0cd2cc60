"""Events of restores of the table: a copy of a moment, and runs that move the items back to it.

A copy is torn: one part of the items is of an earlier moment than the other. Runs are slow, are
killed, and two work at once, while the API writes and items expire. A last run, which nothing
disturbs, has to leave the items as the copy has them.
"""

from __future__ import annotations

import zlib
from decimal import Decimal
from typing import Any

from daicho.archive.reader import ArchiveReader
from daicho.handlers.wiring.invocation import make_retry_budget
from daicho.layout import sections, versions
from daicho.layout.reservations import OWNER, build_reservations
from daicho.layout.sections import Manifest
from daicho.restore.differences import ItemChoice, MoveBackReport
from daicho.restore.move_back import MoveBack, MoveBackError, open_difference_file
from daicho.runtime.rate_limit import RateLimiter
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.table import Table
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.faults.faulty_clients import FaultyDynamoDB
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.faults.simulated_lambda import UNLIMITED_SECONDS
from daicho.testing.oracle.stream_history import (
    find_restored_rows,
    is_base_item,
    list_expired_items,
)
from daicho.testing.schedules.event_owner import EventOwner, ScheduleParts
from daicho.testing.stack_settings import ARCHIVE_BUCKET, FAILURE_BUCKET, TABLE
from tests.simulator.faults.waiting_processes import WaitingProcesses

RESTORE = "table restore"
STEPS_OF_A_TURN = 20
MAX_TURNS = 2_000
ITEM_WRITES = ("put_item", "delete_item", "transact_write_items")
DISTURBED = 0.5
"""The share of writes of a run before which something else happens."""
WRITE_S = 0.001
"""An item is written at most a thousand times a second."""
RIGHT_REASONS = (
    "the item of that moment would have expired by now",
    "its archived row is not restored: an expired item at its key",
    *("its sections changed at that moment", "its section ", "version "),  # of a torn copy
    *("another item keeps its unique value", "its unique value "),
)
_IGNORED = frozenset(
    ("version", "gen", "versioned_at", "split", "_restored", "_repair", "_history", "_bytes")
)


class MoveBackEvents(EventOwner):
    """The events, on one deployment. A profile names them by their methods."""

    def __init__(self, parts: ScheduleParts) -> None:
        super().__init__(parts)
        self._processes = WaitingProcesses(
            parts.deployment, parts.simulated_lambda, self._choices, (UNLIMITED_SECONDS,)
        )
        self._copy: MemoryDynamoDB | None = None
        self._at = parts.deployment.clock.now()
        self._salt, self._runs = "", 0
        self._is_whole = self._is_torn = False
        self._highest: dict[tuple[ItemKey, str], int] = {}
        self._started: list[SimulatedProcess] = []
        self._raced: set[SimulatedProcess] = set()
        """The runs that were under way beside another one."""
        self._repeated_lives: set[tuple[ItemKey, str]] = set()
        """Those that began more than once: they may have several rows, and one is restored."""
        self._wrong: list[str] = []
        self._unread: dict[ItemKey, Image] = {}
        parts.deployment.observers.append(self._check_write)

    # --- Events ------------------------------------------------------------------------------

    def snapshot(self) -> None:
        """A part of the items is copied, if there are any; the next time, the other part."""
        if not self._writer.items:
            return
        if self._copy is not None and not self._is_whole:
            self._copy_part(1)
            self._is_whole = self._is_torn = True
        elif self._copy is None or self._choices.draw_bool(0.3):
            self._copy = MemoryDynamoDB(self._deployment.clock.now)
            self._at, self._salt = self._deployment.clock.now(), str(self._choices.draw_number(99))
            self._copy_part(0)
            self._is_torn = False
            self._is_whole = self._choices.draw_bool(0.5)
            if self._is_whole:
                self._copy_part(1)

    def move_back(self) -> None:
        """A run begins, perhaps beside another one; most runs are disturbed."""
        if self._copy is None:
            self.snapshot()
            return
        if self._processes.count(RESTORE) > 1:
            return
        if not self._is_whole:
            self.snapshot()
        self._fault_counts["table restore"] += 1
        self._fault_counts["two table restores"] += self._processes.count(RESTORE) > 0
        for _ in range(self._choices.pick((0, 1, 2))):
            if self._choices.draw_bool(0.5):
                self._edit(self._list_dated())
            else:
                self.end_life()
        self._unread.clear()
        process = self._start()
        while not process.finished and self._choices.draw_bool(0.995):
            if process.next_call in ITEM_WRITES and self._choices.draw_bool(DISTURBED):
                self._disturb(process)
            elif process.next_call == "describe_table" and self._choices.draw_bool(DISTURBED):
                self._processes.deliver()
            if not process.finished:
                self._processes.run_round(process, 1)
            self._unread.clear()

    def _list_dated(self) -> list[ItemKey]:
        """The items of which no reservation has the same expiry."""
        find_plan = self._deployment.entities.find_plan
        items = self._writer.items.items()
        return sorted(key for key, item in items if find_plan(item).fields.keys() >= {"text", "at"})

    def _disturb(self, process: SimulatedProcess) -> None:
        """An item is changed or ends just before a run writes, or records are delivered.

        Most often it is the item that the run is about to write.
        """
        items = self._list_dated()
        items = [key for key in items if key.pk == process.next_key] or items
        event = self._choices.pick(("edit", "end", "deliver"))
        if event == "deliver":
            self._processes.deliver()
        elif event == "end":
            self._end_life(items)
        else:
            self._edit(items)

    def _edit(self, keys_of_items: list[ItemKey]) -> None:
        """An item is changed, past the library."""
        if keys_of_items:
            key = self._choices.pick(keys_of_items)
            item = self._deployment.dynamodb.find(key) or {}
            number = {"N": str(int(item["version"]["N"]) + 1)}
            new = {**item, "version": number, "text": {"S": number["N"]}}
            self._deployment.dynamodb.commit(key, new)
            self._unread[key] = new

    def end_life(self) -> None:
        """An item of the copy expires at once, by a wrong change; perhaps it is archived later."""
        copied = dict(self._copy.items) if self._copy is not None else {}
        self._end_life([key for key in sorted(self._writer.items) if key in copied])

    def _end_life(self, keys_of_items: list[ItemKey]) -> None:
        find, find_plan = self._deployment.dynamodb.find, self._deployment.entities.find_plan
        items = [k for k in keys_of_items if find_plan(find(k) or {}).expires is not None]
        if items:
            key, now = self._choices.pick(items), int(self._deployment.clock.now().timestamp())
            if self._choices.draw_bool(0.5):  # its row is not the item of the copy
                self._edit([key])
            item = find(key) or {}
            writes = self._choices.pick((1, 3))
            self._deployment.clock.advance((writes - 1) * WRITE_S)  # the last one when it is noted
            number = {"N": str(int(item["version"]["N"]) + writes)}
            ended = {**item, "version": number, "ttl": {"N": str(now - 1)}}
            self._deployment.dynamodb.commit(key, ended)
            for reserved, reservation in build_reservations(find_plan(ended), ended).items():
                if (find(reserved) or {}).get(OWNER) == reservation[OWNER]:  # ends with its item
                    self._deployment.dynamodb.commit(reserved, reservation)
            if self._choices.draw_bool(0.8):
                self._writer.expire(key)
            self._note(f"the life at {key} ends")
            if self._choices.draw_bool(0.3):
                self._processes.deliver()

    def kill_move_back(self) -> None:
        """All runs end before their next operation."""
        self._processes.kill_all(RESTORE)

    def end_processes(self) -> None:
        """A run would wait for heartbeats that nothing delivers."""
        self._processes.kill_all(RESTORE)

    def finish(self) -> None:
        """A last run, with the whole copy, of which nothing is disturbed."""
        if self._copy is None:
            return
        if not self._is_whole:
            self.snapshot()
        reports: list[MoveBackReport] = []
        process = self._start(reports)
        for _ in range(MAX_TURNS):
            if process.finished:
                break
            self._processes.run_round(process, STEPS_OF_A_TURN)
            self._lambda.land_late_requests()
            self._deliver()
        if process.finished and reports:
            self._wrong += self._compare(reports[0])
        else:
            self._wrong.append(f"the last table restore does not end: {process.failure!r}")

    def find_differences(self) -> list[str]:
        """What a run wrote wrongly, and items that are not as the copy has them."""
        return self._wrong

    # --- The copy and the runs ---------------------------------------------------------------

    def _copy_part(self, part: int) -> None:
        assert self._copy is not None
        self._note(f"part {part} of the table is copied")
        for key, item in self._deployment.dynamodb.items:
            if key.pk.startswith(keys.DELIMITER):
                continue
            if zlib.crc32(f"{self._salt}{key.pk} {key.sk}".encode()) % 2 == part:
                # An image of a release that is long over.
                older = {"gen": {"N": "1"}} if is_base_item(item) and "gen" in item else {}
                self._copy.commit(key, {**item, **older})

    def _start(self, reports: list[MoveBackReport] | None = None) -> SimulatedProcess:
        self._runs += 1
        copy, at, run = self._copy, self._at, f"restore{self._runs}"

        def work(process: SimulatedProcess) -> None:
            on = self._processes.build_dependencies(process)
            client: Any = FaultyDynamoDB(copy, process)
            ledger = self._deployment.entities.ledger
            mover = MoveBack(
                on.table(TABLE),
                Table(client, TABLE),
                on.stream(TABLE),
                ArchiveReader(on.bucket(ARCHIVE_BUCKET)),
                on.bucket(FAILURE_BUCKET),
                ledger,
                at,
                ItemChoice(ledger.list_types()),
                run,
                RateLimiter(None),
                RateLimiter(None),
                make_retry_budget(process, on),
                threads=1,
                now=on.now,
            )
            with open_difference_file() as file:
                found = mover.find_differences(file)
                self._note(f"{run}: {found.changes}")
                try:
                    report = mover.apply_changes(file)
                except MoveBackError as error:
                    self._note(f"{run}: {error}")
                    return
            self._note(f"{run}: {report.to_json()}")
            if reports is not None:
                reports.append(report)

        process = self._processes.start(RESTORE, work)
        others = [each for each in self._started if not each.finished]
        self._raced.update((*others, process) if others else ())
        self._started.append(process)
        return process

    def _deliver(self) -> None:
        for ready in self._lambda.list_ready_shards():
            self._lambda.invoke(*ready)
        while self._lambda.polled:
            self._lambda.step_polled(next(iter(self._lambda.polled)))

    # --- Checks --------------------------------------------------------------------------------

    def _check_write(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Check a write of a run; note the versions of each item."""
        image = new or old or {}
        if not is_base_item(image):
            return
        self._deployment.clock.advance(WRITE_S)
        life = key, image["created_at"]["S"]
        before, number = (int((each or {}).get("version", {}).get("N", 0)) for each in (old, new))
        highest = max(self._highest.get(life, 0), before)
        process = get_running_process()
        is_restore = process is not None and process.name == RESTORE
        # A create whose request is repeated after its life has ended begins the same life again.
        begins = old is None and not is_restore
        if begins and life in self._highest:
            self._repeated_lives.add(life)
        self._highest[life] = number if begins else max(self._highest.get(life, 0), number)
        if not is_restore:
            return
        if old is not None and self._unread.get(key) == old:
            self._wrong.append(f"{key} is written, and was changed after it was read")
        if new is None:
            return
        entity, ledger = new["type"]["S"], self._deployment.entities.ledger
        mark = new.get("_restored", {}).get("M", {})
        is_row = mark.get("version") == new["version"]
        returns = old is None or old["created_at"] != new["created_at"]
        # Only the lease of the command keeps two runs from returning one life.
        is_raced = returns and process in self._raced
        if is_raced:
            self._repeated_lives.add(life)
        if number <= highest and not is_row and life not in self._repeated_lives:
            self._wrong.append(f"{key} gets version {new['version']} after {highest}")
        if new["gen"] != {"N": str(ledger.current_generation(entity).number)}:
            self._wrong.append(f"{key} is restored in generation {new['gen']}")
        if not returns:
            return
        self._fault_counts["life returned"] += 1
        if entity in ledger.archived_types and life not in self._repeated_lives:
            restored = find_restored_rows(self._deployment.stream)
            rows = [
                each.row
                for each in list_expired_items(self._deployment.stream)
                if get_key(each.image) == key and each.image["created_at"] == new["created_at"]
            ]
            self._fault_counts["life returned from the archive"] += bool(rows)
            self._wrong += [f"{key} is counted twice: {row}" for row in rows if row not in restored]

    def _compare(self, report: MoveBackReport) -> list[str]:
        """Where items are not as the copy has them, in a line each."""
        assert self._copy is not None
        copied = {key: item for key, item in self._copy.items if is_base_item(item)}
        live = self._writer.items
        skipped = {each["item"]: each["reason"] for each in report.named}
        if not self._is_torn and skipped and all("unique value" in r for r in skipped.values()):
            return [f"not moved back: {skipped}"]
        if unknown := [r for r in skipped.values() if not r.startswith(RIGHT_REASONS)]:
            return [f"not moved back: {unknown}"]
        soon = self._deployment.clock.now().timestamp() + 120
        wrong = []
        for key in copied.keys() | live.keys():
            wanted, stored = copied.get(key), live.get(key)
            until = [int(each["ttl"]["N"]) for each in (wanted, stored) if each and "ttl" in each]
            is_same = wanted is not None and {**wanted, "gen": None} == {
                **(stored or {}),
                "gen": None,
            }
            # Of a torn copy only the item itself is certain.
            if is_same or f"{key.pk} {key.sk}" in skipped or any(end <= soon for end in until):
                continue
            if wanted is None or stored is None:
                if wanted is not stored:
                    wrong.append(f"not moved back: {key}: {stored} instead of {wanted}")
                continue
            omitted = {"ttl"} if "_restored" in stored else set()
            contents = [
                _read_content(table, item, omitted)
                for table, item in ((self._copy, wanted), (self._deployment.dynamodb, stored))
            ]
            if contents[0] != contents[1]:
                wrong.append(f"not moved back: {key}: {contents[1]} instead of {contents[0]}")
        return wrong


def _read_content(table: MemoryDynamoDB, item: Image, omitted: set[str]) -> dict[str, Any]:
    """The content of an item, with that of the version that it points at, and its sections."""
    key, entity = get_key(item), item["type"]["S"]
    content: dict[str, Any] = {**item}
    if "_bytes" in item:
        number = int(item["version"]["N"])
        content |= table.find(versions.build_version_key(key, entity, number)) or {}
        content |= {"PK": key.pk, "SK": key.sk}
    manifest = Manifest.from_image(item)
    if manifest is not None:
        partition = sections.render_sections_partition(key, entity)
        prefix = keys.render_prefix(manifest.epoch)
        pieces = (i for k, i in table.items if k.pk == partition and k.sk.startswith(prefix))
        content["sections"] = {n: s.text for n, s in sections.join_pieces(pieces).items()}
    numbers = {name: Decimal(value["N"]) for name, value in content.items() if "N" in value}
    content |= numbers
    return {name: content[name] for name in content if name not in _IGNORED | omitted}
