"""The stored items of the trials, and what must be answered about them.

Quiet items keep every value that is counted, listed or searched; writers change only their notes.
So each query about them has one right answer before the change of declarations, and one after it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.rebuild.declarations import TENANT
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image, to_image
from daicho.storage.table import Table

COUNTRIES = tuple(f"c{n:02}" for n in range(40))
STATUSES = ("open", "paid", "void")
ARTISTS = tuple(f"a{n:02}" for n in range(40))
_LETTERS = "bdfgklmnpt"
NAMES = tuple(f"{a}o{b}ar{c}" for a, b, c in itertools.product(_LETTERS, _LETTERS, _LETTERS[:5]))
"""Names of persons; none is the beginning of another one."""
WRITTEN = tuple(f"w{n}" for n in range(5))
"""Countries, artists and statuses of the items that writers add."""
LOAD_BLOCK = 2_000
Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Sizes:
    """The number of quiet items of each entity."""

    events: int = 100_000
    sales: int = 20_000
    persons: int = 5_000
    follows: int = 5_000

    @property
    def total(self) -> int:
        """All items."""
        return self.events + self.sales + self.persons + self.follows


def list_fields(sizes: Sizes) -> Iterator[tuple[str, Fields]]:
    """The quiet items: entity and fields."""
    for n in range(sizes.events):
        yield "Event", {"id": f"e{n:06}", "country": COUNTRIES[n % 40], "amount": n % 97}
    for n in range(sizes.sales):
        yield "Sale", make_sale(f"s{n:06}", COUNTRIES[n % 40], STATUSES[n % 3], n % 89)
    for n in range(sizes.persons):
        email = f"{NAMES[(n * 7 + 3) % len(NAMES)]}x"
        yield "Person", {"id": f"p{n:06}", "name": NAMES[n % len(NAMES)], "email": email}
    for n in range(sizes.follows):
        yield "Follow", {"fan": f"f{n:06}", "artist": ARTISTS[n % 40]}


def make_sale(id: str, country: str, status: str, amount: int) -> Fields:
    """The fields of a sale."""
    return {"id": id, "country": country, "status": status, "amount": amount}


def load(table: Table, ledger: Ledger, sizes: Sizes) -> Iterator[int]:
    """Store the quiet items as the written generations of a ledger do; how many are stored."""
    images = (build(ledger, entity, fields) for entity, fields in list_fields(sizes))
    stored = 0
    while block := list(itertools.islice(images, LOAD_BLOCK)):
        table.batch_write(block)
        stored += len(block)
        yield stored


def build(ledger: Ledger, entity: str, fields: Fields) -> Image:
    """The base item of an entity."""
    generation = ledger.current_generation(entity)
    return build_base_item(TENANT, generation, to_image({**fields, "note": "-"}), utc_now())


def draw_quiet(draw: random.Random, sizes: Sizes, count: int) -> list[tuple[str, Fields]]:
    """Some quiet items of each entity, for writers that change their notes."""
    by_entity: dict[str, list[Fields]] = {}
    for entity, fields in list_fields(sizes):
        by_entity.setdefault(entity, []).append(fields)
    return [
        (entity, fields)
        for entity, all_fields in by_entity.items()
        for fields in draw.sample(all_fields, min(count, len(all_fields)))
    ]


def make_written(draw: random.Random, writer: str, number: int) -> tuple[str, Fields]:
    """An item that a writer adds, or an earlier one of it with other values."""
    entity = draw.choice(("Event", "Sale", "Person", "Follow"))
    id, group = f"{writer}{number:05}", draw.choice(WRITTEN)
    match entity:
        case "Event":
            return entity, {"id": id, "country": group, "amount": draw.randrange(50)}
        case "Sale":
            return entity, make_sale(id, group, draw.choice(WRITTEN), draw.randrange(50))
        case "Person":
            return entity, {"id": id, "name": f"{group}q", "email": f"{draw.choice(WRITTEN)}z"}
        case _:
            return entity, {"fan": id, "artist": group}
