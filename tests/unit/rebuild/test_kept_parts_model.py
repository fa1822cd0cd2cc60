"""Rule 33 as a model: every sequence of a few steps, with real restores and real fills.

Items of two generations are created, touched, deleted and expired. Rows are restored before the
second generation is released, and later by newest code and by code that was rolled back. The proof
is given up when older code writes. Then the archive is read again from its start. Whenever all rows
were read after a proof, the figure is compared with a plain count.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from daicho.archive.reader import Selection
from daicho.archive.restorer import Restorer
from daicho.archive.row_format import ArchivedRow
from daicho.plan import Ledger
from daicho.rebuild.kept_parts import KeptParts
from daicho.rebuild.table_step import TableDependencies
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.storage.protocols import DescribesStream
from daicho.stream.changes import compute_record
from daicho.stream.records import StreamRecord
from tests.delivery.sample_values import LEDGER
from tests.support.memory_stores import MemoryTable
from tests.support.sample_ledger import build_image

STEPS = 10
START = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
FIRST = Ledger({"Download": LEDGER.entities["Download"][:1]})
ROLLED_BACK = replace(LEDGER, written={"Download": 1})
PLAYED = ("played", 2)
BUDGET = RetryBudget(lambda: 300.0, reserve=20, sleep=lambda _: None)


@dataclass(frozen=True)
class StoredRow:
    """An object of the archive with one row."""

    entity: str
    name: str
    rows: tuple[ArchivedRow, ...]


@dataclass(frozen=True)
class ArchiveOfRows:
    """The archive's reader, over rows in memory."""

    objects: tuple[StoredRow, ...]

    def list_selected(self, selection: Selection, *, behind: str = "") -> Iterator[StoredRow]:
        yield from (each for each in self.objects if each.name > behind)

    def read_objects(
        self, selection: Selection, _broken: object, *, behind: str = ""
    ) -> Iterator[tuple[str, list[ArchivedRow]]]:
        for each in self.objects:
            yield each.name, [row for row in each.rows if row in selection]

    def read_rows(self, selection: Selection, _broken: object) -> Iterator[ArchivedRow]:
        yield from (row for each in self.objects for row in each.rows)

    def read(self, name: str) -> StoredRow:
        return next(each for each in self.objects if each.name == name)


@dataclass(frozen=True)
class World:
    """A table, the archive, and what the stream has counted. Each step makes a new one.

    ``is_released``: the second generation was released. ``read``: how many objects were read since
    the proof; None without a proof.
    """

    items: Mapping[ItemKey, Image] = field(default_factory=dict)
    objects: tuple[StoredRow, ...] = ()
    restored: frozenset[str] = frozenset()
    counted: Counter[str] = field(default_factory=Counter)
    is_released: bool = False
    read: int | None = None
    steps: tuple[str, ...] = ()

    @property
    def now(self) -> dt.datetime:
        return START + dt.timedelta(hours=len(self.steps))

    @property
    def seq(self) -> str:
        return f"label#{len(self.steps):040}"

    @property
    def base_items(self) -> dict[ItemKey, Image]:
        return {key: item for key, item in self.items.items() if "type" in item}

    def open_table(self) -> MemoryTable:
        table = MemoryTable()
        table.items.update(self.items)
        return table

    def commit(self, items: Mapping[ItemKey, Image], step: str, *, expired: bool = False) -> World:
        counted, restored, read = self.counted.copy(), set(self.restored), self.read
        for key in sorted({*self.items, *items}):
            old, new = self.items.get(key), items.get(key)
            if old == new or "type" not in (old or new or {}):
                continue
            record = StreamRecord(self.seq, "1", "s", key, old, new, expired, self.now)
            for slot, amount in compute_record(record, LEDGER).deltas.items():
                counted[slot.pk] += amount.items
            if new is not None and "_restored" in new:
                restored.add(new["_restored"]["M"]["seq"]["S"])
            if new is not None and new["gen"]["N"] == "1":
                read = None  # older code announced what it writes
        return replace(
            self,
            items=dict(items),
            restored=frozenset(restored),
            counted=Counter({tally: count for tally, count in counted.items() if count}),
            read=read,
            steps=(*self.steps, step),
        )

    def describe_state(self) -> tuple[object, ...]:
        """All that matters for what may follow."""
        names = {row.seq: each.name for each in self.objects for row in each.rows}

        def describe(item: Image) -> tuple[object, ...]:
            mark = item.get("_restored", {}).get("M", {})
            return item["gen"]["N"], names.get(mark.get("seq", {}).get("S", "")), "again" in mark

        def render(key: ItemKey) -> str:
            for seq, name in names.items():
                key = ItemKey(key.pk.replace(seq, name), key.sk)
            return str(key)

        others = [
            (render(key), str(item.get("gen")), str(item.get("items")))
            for key, item in self.items.items()
            if "type" not in item
        ]
        live = [describe(item) for _, item in sorted(self.base_items.items())]
        rows = [
            (describe(row.item), row.seq in self.restored)
            for each in self.objects
            for row in each.rows
        ]
        return tuple(live), tuple(rows), tuple(sorted(others)), self.is_released, self.read


def create(world: World, gen: int) -> World | None:
    values = {"song": "1", "id": "1", "at": "2026-10-01T00:00:00.000000Z", "seconds": 3}
    item = build_image("Download", {**values, "version": 1, "ttl": 1}, gen=gen, ledger=LEDGER)
    if get_key(item) in world.items or (gen == 2 and not world.is_released):
        return None
    return world.commit({**world.items, get_key(item): item}, f"create by generation {gen}")


def release(world: World) -> World | None:
    if world.is_released:
        return None
    return replace(world, is_released=True, steps=(*world.steps, "release"))


def touch(world: World) -> World | None:
    if not world.is_released:
        return None
    older = {key: item for key, item in world.base_items.items() if item["gen"]["N"] == "1"}
    touched = {key: {**item, "gen": {"N": "2"}} for key, item in older.items()}
    return world.commit({**world.items, **touched}, "touch") if touched else None


def remove(world: World, *, expired: bool) -> World | None:
    for key, item in world.base_items.items():
        left = {other: image for other, image in world.items.items() if other != key}
        after = world.commit(left, "expire" if expired else "delete", expired=expired)
        if not expired:
            return after
        generation = int(item["gen"]["N"])
        row = ArchivedRow("t", "Download", generation, world.now, world.seq, False, item)
        stored = StoredRow("Download", f"object-{len(world.objects)}", (row,))
        return replace(after, objects=(*world.objects, stored))
    return None


def restore(world: World, ledger: Ledger, by: str) -> World | None:
    if not world.objects or world.is_released is (ledger is FIRST):
        return None
    table = world.open_table()
    archive: Any = ArchiveOfRows(world.objects)
    restorer = Restorer(table, archive, ledger, threads=1, now=lambda: world.now)
    restorer.restore(Selection(), dry_run=False)
    return world.commit(dict(table.items), f"restore by {by}")


def prove(world: World) -> World | None:
    if world.read is not None or not world.is_released:
        return None
    if any(item["gen"]["N"] == "1" for item in world.base_items.values()):
        return None
    return replace(world, read=0, steps=(*world.steps, "prove"))


def fill(world: World) -> World | None:
    """Read the next object."""
    if world.read is None or world.read == len(world.objects):
        return None
    table = world.open_table()
    archive: Any = ArchiveOfRows(world.objects[: world.read + 1])
    unused: Any = None
    dependencies = TableDependencies(
        store=table,
        stream=Silent(),
        failures=unused,
        ledger=LEDGER,
        now=lambda: world.now,
        settle=0,
        parallelism=1,
        archive=archive,
    )
    behind = world.objects[world.read - 1].name if world.read else ""
    parts = KeptParts(dependencies, BUDGET)
    reports = [*parts.fill({"Download": frozenset({PLAYED})}, behind)]
    assert reports[-1].finished
    assert not any(report.left for report in reports)
    after = world.commit(dict(table.items), "fill")
    return replace(after, read=world.read + 1)


class Silent(DescribesStream):
    """A stream that nobody asks."""

    def list_shards(self) -> tuple[Any, ...]:
        raise AssertionError("not used")


ACTIONS: tuple[Callable[[World], World | None], ...] = (
    lambda world: create(world, 1),
    lambda world: create(world, 2),
    touch,
    lambda world: remove(world, expired=False),
    lambda world: remove(world, expired=True),
    lambda world: restore(world, FIRST, "earlier code"),
    lambda world: restore(world, ROLLED_BACK, "code that was rolled back"),
    lambda world: restore(world, LEDGER, "newest code"),
    release,
    prove,
    fill,
)


def count_played(world: World) -> int:
    """What the stream and the fills have counted."""
    filled = [
        int(item["items"]["N"]) for key, item in world.items.items() if key.sk == "kept#archive"
    ]
    return world.counted["t#+Download.played#2#1"] + sum(filled)


def test_the_figure_is_right_whenever_the_archive_was_read_after_a_proof() -> None:
    worlds = [World()]
    seen = {worlds[0].describe_state()}
    judged: Counter[bool] = Counter()
    for _ in range(STEPS):
        following = []
        for world in worlds:
            for action in ACTIONS:
                after = action(world)
                if after is None:
                    continue
                if after.read == len(after.objects):
                    rows = [row for each in after.objects for row in each.rows]
                    unrestored = sum(row.seq not in after.restored for row in rows)
                    assert count_played(after) == len(after.base_items) + unrestored, after.steps
                    judged["fill" in after.steps] += 1
                state = after.describe_state()
                if state not in seen:
                    seen.add(state)
                    following.append(after)
        worlds = following
    assert judged[True] > 200
