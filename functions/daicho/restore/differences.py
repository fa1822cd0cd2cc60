"""Finds the items that a restore changes: two parallel scans, in bounded memory.

Each page of the copy is compared with the live items at its keys, and each page of the live table
with the keys of the copy. The keys of the items that differ go to a file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import IO, Any

from daicho.errors import UnavailableError
from daicho.rebuild.touches import estimate_units
from daicho.restore.changes import ChangePlanner, ItemChange
from daicho.restore.item_states import SkippedError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.rate_limit import RateLimiter
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.parallel_scan import ParallelScan, ScanSegments
from daicho.storage.requests import ItemPage, Scan
from daicho.storage.table import Table

Found = ItemChange | tuple[ItemKey, str, str]
"""The change of an item, or the key, the entity and the reason of one that is skipped."""
SEGMENTS = 16
MAX_NAMED = 1_000
"""The most skipped items that a report names one by one."""


@dataclass(frozen=True)
class Difference:
    """An item that differs. ``returns``: the live table lacked its life when it was read."""

    key: ItemKey
    entity: str
    returns: bool = False


@dataclass(frozen=True)
class ItemChoice:
    """The items to restore: of these entities, and of one tenant; "" for all tenants."""

    entities: tuple[str, ...]
    tenant: str = ""

    def build_scan(self) -> Scan:
        """The scan of the chosen base items. It reads, and pays for, the whole table."""
        names = {"#type": "type"}
        values = {f":t{n}": {"S": entity} for n, entity in enumerate(self.entities)}
        condition = f"#type IN ({', '.join(values)})"
        if self.tenant:
            names["#pk"], values[":tenant"] = "PK", {"S": keys.render_prefix(self.tenant)}
            condition += " AND begins_with(#pk, :tenant)"
        return Scan(filter=condition, names=names, values=values)


@dataclass
class MoveBackReport:
    """What a restore changes, or has changed.

    ``changes``: by entity, the number of each kind. ``skipped``: by entity and reason. ``named``:
    the first skipped items. ``read_units``, ``write_units``: without those of derived items.
    """

    scanned: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    changes: dict[str, Counter[str]] = field(default_factory=dict)
    skipped: dict[str, Counter[str]] = field(default_factory=dict)
    named: list[dict[str, str]] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many items are changed."""
        return sum(sum(kinds.values()) for kinds in self.changes.values())

    @property
    def skips(self) -> int:
        """How many items are skipped."""
        return sum(sum(reasons.values()) for reasons in self.skipped.values())

    def add_change(self, change: ItemChange) -> None:
        """Count a change."""
        self.changes.setdefault(change.plan.name, Counter())[change.kind] += 1
        written = [image for image in (change.target, change.live) if image is not None]
        units = max(map(estimate_units, written), default=1.0)
        belongs = bool(change.plan.versions or change.plan.derived_uniques or change.sections)
        self.write_units += units * (4 if belongs else 1)

    def add_returned(self, entity: str) -> None:
        """Count an item that returned from the archive."""
        self.changes.setdefault(entity, Counter())["return"] += 1

    def add_skip(self, key: ItemKey, entity: str, reason: str) -> None:
        """Count a skipped item, and name it if there are few."""
        self.skipped.setdefault(entity, Counter())[reason] += 1
        if len(self.named) < MAX_NAMED:
            self.named.append({"item": f"{key.pk} {key.sk}", "reason": reason})

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {**vars(self), "total": self.total, "skips": self.skips}


class DifferenceFile:
    """The items that differ, one a line."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def append(self, difference: Difference) -> None:
        """Add one."""
        each = (*difference.key, difference.entity, difference.returns)
        self._file.write(f"{json.dumps(each)}\n")

    def read(self) -> Iterator[Difference]:
        """All that were added."""
        self._file.seek(0)
        for line in self._file:
            pk, sk, entity, returns = json.loads(line)
            yield Difference(ItemKey(pk, sk), entity, returns)


@dataclass(frozen=True)
class DifferenceFinder:
    """Compares the two tables. ``pace`` bounds read units a second."""

    planner: ChangePlanner
    choice: ItemChoice
    pace: RateLimiter
    budget: RetryBudget
    threads: int = 8
    on_page: Callable[[MoveBackReport], None] = lambda _: None

    def find(self, differences: DifferenceFile) -> MoveBackReport:
        """Append the items that differ to a file; returns what a restore would change.

        Raises:
            StoreError: a table does not answer.
        """
        report, planner = MoveBackReport(), self.planner
        self._scan(planner.copy, self._compare_copied, differences, report)
        self._scan(planner.store, self._compare_live, differences, report)
        return report

    def _scan(
        self,
        table: Table,
        work: Callable[[ItemPage], list[Found]],
        differences: DifferenceFile,
        report: MoveBackReport,
    ) -> None:
        def record(scan_round: Any) -> None:
            report.scanned += scan_round.scanned
            report.read_units += scan_round.units
            for found in (each for results in scan_round.results for each in results):
                if isinstance(found, ItemChange):
                    report.add_change(found)
                    name = found.plan.name
                    differences.append(Difference(found.key, name, found.returns))
                else:  # the reason may be gone when it is written
                    report.add_skip(*found)
                    differences.append(Difference(found[0], found[1]))
            self.on_page(report)

        segments = 1 if self.threads == 1 else SEGMENTS
        scan = ParallelScan(table, self.choice.build_scan(), work, self.threads, self.pace)
        if not scan.run(ScanSegments.start(segments), self.budget, record):
            raise UnavailableError("time was over before the tables were compared")

    def _compare_copied(self, page: ItemPage) -> list[Found]:
        """Compare items of the copy with the live items at their keys."""
        stored = {get_key(image): image for image in page.items}
        live = self.planner.store.batch_get(stored).require_all()
        return [
            found
            for key, image in stored.items()
            if (found := self._plan(key, image["type"]["S"], image, live.get(key))) is not None
        ]

    def _compare_live(self, page: ItemPage) -> list[Found]:
        """Find the live items that the copy lacks."""
        live = {get_key(image): image for image in page.items}
        stored = self.planner.copy.batch_get(live).require_all()
        return [
            found
            for key, image in live.items()
            if key not in stored
            if (found := self._plan(key, image["type"]["S"], None, image)) is not None
        ]

    def _plan(
        self, key: ItemKey, entity: str, stored: Image | None, live: Image | None
    ) -> Found | None:
        try:
            change = self.planner.plan_change(stored, live)
            if change is not None and change.returns:  # from here on it must not have been live
                return self.planner.plan_from_tables(key)
            return change
        except SkippedError as error:
            return key, entity, str(error)
