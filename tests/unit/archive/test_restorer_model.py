"""Rule 42 as a model: every sequence of a few steps in the life of an item, with real restores.

The steps are those that can change what a restored row still counts: create by two generations,
change the group, move to another key, delete, expire, restore the newest or the oldest row, over a
live item or not. After each step the figures are compared with a plain count.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daicho.archive.reader import Selection
from daicho.archive.restorer import Restorer
from daicho.archive.row_format import ArchivedRow
from daicho.layout import item_keys
from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey
from daicho.stream.changes import compute_record
from daicho.stream.records import StreamRecord
from tests.delivery.sample_values import LEDGER
from tests.support.memory_stores import MemoryTable
from tests.support.sample_ledger import build_image

STEPS = 7
START = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
MONTHS = ("2026-10", "2026-11")
Figures = Counter[str]


@dataclass
class ArchiveOfRows:
    """The archive's reader, over rows in memory: one object for each row."""

    rows: Sequence[ArchivedRow]

    def read_objects(
        self, selection: Selection, _broken: object, *, behind: str = ""
    ) -> Iterator[tuple[str, list[ArchivedRow]]]:
        yield from ((row.seq, [row]) for row in self.rows if row in selection)

    def read_rows(self, selection: Selection, _broken: object) -> Iterator[ArchivedRow]:
        yield from (row for row in self.rows if row in selection)


@dataclass(frozen=True)
class World:
    """A table, the archive, and the figures of the stream so far. Each step makes a new one."""

    items: Mapping[ItemKey, Image] = field(default_factory=dict)
    rows: tuple[ArchivedRow, ...] = ()
    restored: frozenset[str] = frozenset()
    figures: Figures = field(default_factory=Counter)
    steps: tuple[str, ...] = ()

    @property
    def now(self) -> dt.datetime:
        return START + dt.timedelta(hours=len(self.steps))

    @property
    def base_items(self) -> dict[ItemKey, Image]:
        return {key: item for key, item in self.items.items() if "type" in item}

    def commit(self, items: Mapping[ItemKey, Image], step: str, *, expired: bool = False) -> World:
        """The world after a step; the stream's records follow from the items that differ."""
        figures, seen = self.figures.copy(), set(self.restored)
        for key in sorted({*self.items, *items}):
            old, new = self.items.get(key), items.get(key)
            if old == new or "type" not in (old or new or {}):
                continue
            record = StreamRecord(self._seq, "1", "s", key, old, new, expired, self.now)
            for slot, amount in compute_record(record, LEDGER).deltas.items():
                figures[slot.pk] += amount.items
            if new is not None and "_restored" in new:
                seen.add(new["_restored"]["M"]["seq"]["S"])
        figures = Counter({tally: count for tally, count in figures.items() if count})
        return replace(
            self,
            items=items,
            restored=frozenset(seen),
            figures=figures,
            steps=(*self.steps, step),
        )

    @property
    def _seq(self) -> str:
        return f"label#{len(self.steps):040}"

    def expire(self) -> World | None:
        """The first item expires, and is archived."""
        for key, item in self.base_items.items():
            row = ArchivedRow(
                "t", "Download", int(item["gen"]["N"]), self.now, self._seq, False, item
            )
            left = {other: image for other, image in self.items.items() if other != key}
            return replace(self.commit(left, "expire", expired=True), rows=(*self.rows, row))
        return None

    def describe_state(self) -> tuple[object, ...]:
        """All that matters for what may follow: the same state needs to be continued once."""
        numbers = {row.seq: number for number, row in enumerate(self.rows)}

        def describe(item: Image) -> tuple[object, ...]:
            mark = item.get("_restored", {}).get("M", {})
            row = numbers.get(mark.get("seq", {}).get("S", ""))
            is_version_of_restore = mark.get("version") == item["version"]
            return _read(item), row, "again" in mark, is_version_of_restore

        live = [(key, describe(item)) for key, item in sorted(self.base_items.items())]
        rows = [(row.key, describe(row.item), row.seq in self.restored) for row in self.rows]
        return tuple(live), tuple(rows)


def _read(item: Image) -> tuple[str, str, int]:
    return item["song"]["S"], item["at"]["S"][:7], int(item["gen"]["N"])


def build_download(month: str, gen: int, id: str = "1") -> Image:
    values = {"song": "1", "id": id, "at": f"{month}-01T00:00:00.000000Z", "seconds": 3}
    return build_image("Download", {**values, "version": 1, "ttl": 1}, gen=gen, ledger=LEDGER)


def create(world: World, gen: int) -> World | None:
    item = build_download(MONTHS[0], gen)
    key = attributes.get_key(item)
    if key in world.items:
        return None
    return world.commit({**world.items, key: item}, f"create by generation {gen}")


def change(world: World, *, moves: bool) -> World | None:
    """Change the group of the first item, or its key; everything else of it stays."""
    for key, item in world.base_items.items():
        month = MONTHS[item["at"]["S"].startswith(MONTHS[0])]
        changed = {**item, "version": {"N": str(int(item["version"]["N"]) + 1)}}
        if moves:
            changed["id"] = {"S": "2" if item["id"]["S"] == "1" else "1"}
        else:
            changed["at"] = {"S": f"{month}-01T00:00:00.000000Z"}
        plan = LEDGER.find_plan("Download", int(item["gen"]["N"]))
        target = item_keys.build_base_key("t", plan, changed)
        changed |= {"PK": {"S": target.pk}, "SK": {"S": target.sk}}
        left = {other: image for other, image in world.items.items() if other != key}
        return world.commit({**left, target: changed}, "move" if moves else "change group")
    return None


def delete(world: World) -> World | None:
    for key in world.base_items:
        left = {other: image for other, image in world.items.items() if other != key}
        return world.commit(left, "delete")
    return None


def restore(world: World, *, newest: bool, over_newer: bool) -> World | None:
    if not world.rows:
        return None
    table = MemoryTable()
    for key, item in world.items.items():
        table.items[key] = item
    archive: Any = ArchiveOfRows(world.rows if newest else world.rows[:1])
    restorer = Restorer(table, archive, LEDGER, threads=1, now=lambda: world.now)
    restorer.restore(Selection(), dry_run=False, over_newer=over_newer)
    which = "newest" if newest else "oldest"
    return world.commit(dict(table.items), f"restore the {which} row, {over_newer=}")


ACTIONS: tuple[Callable[[World], World | None], ...] = (
    lambda world: create(world, 1),
    lambda world: create(world, 2),
    lambda world: change(world, moves=False),
    lambda world: change(world, moves=True),
    delete,
    World.expire,
    lambda world: restore(world, newest=True, over_newer=False),
    lambda world: restore(world, newest=False, over_newer=False),
    lambda world: restore(world, newest=False, over_newer=True),
)


def count_plainly(world: World) -> Figures:
    """The figures: live items, and expired ones of which no row was ever restored.

    A restored row is also subtracted from what is newer than the row: a rebuild adds it there
    (rule 33, `tests/unit/rebuild/test_kept_parts_model.py`).
    """
    counted: Figures = Counter()
    live = [(item, True) for item in world.base_items.values()]
    kept = [(row.item, False) for row in world.rows if row.seq not in world.restored]
    for item, is_live in (*live, *kept):
        song, month, gen = _read(item)
        counted[f"t#+Download.chart#1#{month}#{song}"] += 1
        counted[f"t#+Download.played#2#{song}"] += gen == 2
        counted[f"t#+Download.alive#1#{song}"] += is_live
    for row in world.rows:
        song, _, gen = _read(row.item)
        counted[f"t#+Download.played#2#{song}"] -= gen == 1 and row.seq in world.restored
    return Counter({tally: count for tally, count in counted.items() if count})


def test_figures_are_right_after_every_sequence() -> None:
    worlds = [World()]
    seen = {worlds[0].describe_state()}
    for _ in range(STEPS):
        following = []
        for world in worlds:
            for action in ACTIONS:
                after = action(world)
                if after is None:
                    continue
                assert after.figures == count_plainly(after), after.steps
                state = after.describe_state()
                if state not in seen:
                    seen.add(state)
                    following.append(after)
        worlds = following
    assert len(seen) > 1_000
