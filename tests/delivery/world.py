"""The base items, their stream, and what should follow from them: the oracle."""

from __future__ import annotations

import datetime as dt
import random
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from daicho import derive
from daicho.derive import Amount, ItemKey, Row, key_of
from daicho.images import Image
from daicho.plan import EntityPlan
from tests.ledgers import LEDGER, image

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-21T00:00:00.000"
BEGAN = dt.datetime(2026, 11, 21, 23, 59, tzinfo=dt.UTC)
TTL_PROCESS = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}

Shard = tuple[str, list[dict[str, Any]]]
FLAVOURS = (
    ("Song",),
    ("Download",),
    ("Download",),
    ("Order",),
    ("Song", "Download", "Order"),
)


@dataclass
class World:
    """Base items that are written at random; each write is a record in a shard of the stream.

    The stream has two lines of shards, read at the same time; an item stays in its line, and a
    split goes on in a child, which is read when its parent is at its end.
    """

    rng: random.Random
    items: dict[ItemKey, Image] = field(default_factory=dict)
    lines: list[list[Shard]] = field(default_factory=lambda: [[("a0", [])], [("b0", [])]])
    expired: list[Image] = field(default_factory=list)
    newest_generation: int = 1

    def __post_init__(self) -> None:
        # Numbers cross a length (99 to 100) on the way.
        self._number = self.rng.randint(85, 99)
        self._clock = BEGAN
        # Short schedules about one thing find most; some mix.
        self._entities = self.rng.choice(FLAVOURS)
        self._lines_used = self.rng.choice((1, 1, 2))
        often = self.rng.choice(("put", "touch", "delete", "expire"))
        self._actions = ("put", "put", "put", "touch", "delete", "expire", *([often] * 3))

    def write(self) -> str:
        """Change one item; gives a line that says what was done."""
        action = self.rng.choice(self._actions)
        item = self._drawn()
        if action != "put" and self.items:
            item = self.rng.choice(list(self.items.values()))
        key = key_of(item)
        old = self.items.get(key)
        if old is None or action == "put":
            self.items[key] = item
            self._record(key, old, item)
            return f"put {_short(item)}"
        if action == "touch":
            new = {**old, "gen": {"N": str(self._generation(old["type"]["S"]))}}
            if int(new["gen"]["N"]) <= int(old["gen"]["N"]):
                return "nothing"
            self.items[key] = new
            self._record(key, old, new)
            return f"touch {_short(new)}"
        del self.items[key]
        expires = action == "expire" and old["type"]["S"] == "Download"
        self._record(key, old, None, expired=expires)
        if expires:
            self.expired.append(old)
        return f"{'expire' if expires else 'delete'} {_short(old)}"

    def split(self) -> None:
        """Go on in a new shard."""
        line = self.rng.choice(self.lines)
        line.append((f"{line[0][0][0]}{len(line)}", []))

    def rows(self) -> dict[ItemKey, Row]:
        """The derived items that there should be."""
        found: dict[ItemKey, Row] = {}
        for item in self.items.values():
            found.update(derive.rows(plan_of(item), item))
        return found

    def amounts(self) -> dict[str, Amount]:
        """The tallies that there should be."""
        found: defaultdict[str, Amount] = defaultdict(Amount)
        for item in self.items.values():
            for tally, amount in derive.contributions(plan_of(item), item).items():
                found[tally] += amount
        for item in self.expired:
            for tally, amount in derive.contributions(plan_of(item), item).items():
                if ".chart#" in tally:
                    found[tally] += amount
        return {tally: amount for tally, amount in found.items() if amount}

    def _record(
        self, key: ItemKey, old: Image | None, new: Image | None, *, expired: bool = False
    ) -> None:
        self._number += self.rng.choice((1, 1, 2, 7))
        self._clock += dt.timedelta(seconds=self.rng.choice((1, 1, 30)))
        change: dict[str, Any] = {
            "Keys": {"PK": {"S": key.pk}, "SK": {"S": key.sk}},
            "SequenceNumber": str(self._number),
            "ApproximateCreationDateTime": self._clock.timestamp(),
        }
        change |= {"OldImage": old} if old is not None else {}
        change |= {"NewImage": new} if new is not None else {}
        name = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        record = {"eventName": name, "eventSourceARN": ARN, "dynamodb": change}
        record |= {"userIdentity": TTL_PROCESS} if expired else {}
        line = self.lines[zlib.crc32(f"{key}".encode()) % self._lines_used]
        line[-1][1].append(record)

    def _generation(self, entity: str) -> int:
        return self.newest_generation if entity == "Song" else 1

    def _drawn(self) -> Image:
        choice = self.rng.choice
        entity = choice(self._entities)
        drawn: Mapping[str, Callable[[], Mapping[str, Any]]] = {
            "Song": lambda: {
                "id": choice("12"),
                "name": choice(("ab", "ac", "b")),
                "artist": choice("xy"),
                "seconds": choice((1, 2, -1)),
            },
            "Download": lambda: {
                "song": "1",
                "id": choice("123"),
                "at": choice(("2026-10-31T00:00:00.000000Z", "2026-11-01T00:00:00.000000Z")),
            },
            "Order": lambda: {
                "customer": "c",
                "id": choice("12"),
                "rank": choice((1, 2)),
                "status": choice(("open", "open", "shipped")),
                "tags": set(choice(("", "r", "rs"))),
            },
        }
        return image(entity, drawn[entity](), gen=choice(range(1, self._generation(entity) + 1)))


def plan_of(item: Image) -> EntityPlan:
    return LEDGER.plan(item["type"]["S"], int(item["gen"]["N"]))


def _short(item: Image) -> str:
    skipped = ("PK", "SK", "created_at")
    return " ".join(
        f"{name}={next(iter(value.values()))}"
        for name, value in item.items()
        if name not in skipped
    )
