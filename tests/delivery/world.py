"""Writers of base items, and what should follow from what they wrote: the oracle."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from daicho import derive
from daicho.derive import Amount, ItemKey, Row
from daicho.images import Image
from daicho.plan import EntityPlan
from tests.delivery.choices import Choices
from tests.delivery.clock import Clock
from tests.delivery.code import MARK
from tests.delivery.dynamo import Dynamo
from tests.ledgers import LEDGER, image

LIVES = 60
MONTHS = ("2026-10-31T00:00:00.000000Z", "2026-11-01T00:00:00.000000Z")


class World:
    """Base items that are written at random, over few keys and few values, so that they meet.

    There are at most so many ``items`` of an entity; of one alone, everything happens to it.
    ``kinds`` of poison and killers are marked on some images. ``newest`` is the generation that
    writers know by now.
    """

    def __init__(
        self,
        table: Dynamo,
        clock: Clock,
        choices: Choices,
        entities: Sequence[str],
        actions: Sequence[str],
        kinds: Sequence[str] = (),
        items: int = 2,
    ) -> None:
        self._table = table
        self._clock = clock
        self._choices = choices
        self._entities = entities
        self._actions = actions
        self._kinds = kinds
        self._ids = "123"[:items]
        # Their keys lie in different halves of the stream's hashes: a tally of two shards.
        self._customers = "c" if items == 1 else "cd"
        self._marks = 0
        self.newest = 1
        self.expired: list[Image] = []

    @property
    def items(self) -> dict[ItemKey, Image]:
        """The base items."""
        return {key: item for key, item in self._table.items if "type" in item}

    def write(self, expire: Callable[[ItemKey], None]) -> str:
        """Change one item; gives a line that says what was done. TTL removes by ``expire``."""
        action = self._choices.pick(self._actions)
        items = self.items
        if action == "put" or not items:
            item = self.drawn()
            self._table.commit(derive.key_of(item), item)
            return f"put {short(item)}"
        old = items[self._choices.pick(sorted(items))]
        key = derive.key_of(old)
        if action == "touch":
            new = {**old, "gen": {"N": str(self._newest(old["type"]["S"]))}}
            self._table.commit(key, new)
            return f"touch {short(new)}"
        if action == "expire" and "ttl" in old:
            self._clock.pass_(LIVES + 1)
            expire(key)
            return f"expire {short(old)}"
        self._table.commit(key, None)
        return f"delete {short(old)}"

    def expire(self, key: ItemKey) -> None:
        """DynamoDB's TTL process removes an item that is past its time."""
        old = self._table.find(key)
        if self._table.expire(key) and old is not None and "type" in old:
            self.expired.append(old)

    def is_base(self, key: ItemKey) -> bool:
        """Whether a base item stands there."""
        return "type" in (self._table.find(key) or {})

    def drawn(self) -> Image:
        """An image to write."""
        choice = self._choices.pick
        entity = choice(self._entities)
        drawn: Mapping[str, Callable[[], dict[str, Any]]] = {
            "Song": lambda: {
                "id": choice(self._ids),
                "name": choice(("ab", "ac", "b")),
                "artist": choice("xy"),
                "seconds": choice((1, 2, -1)),
            },
            "Download": lambda: {
                "song": "1",
                "id": choice(self._ids),
                "at": choice(MONTHS),
                "ttl": int(self._clock.now().timestamp()) + LIVES,
            },
            "Order": lambda: {
                "customer": choice(self._customers),
                "id": choice(self._ids),
                "rank": choice((1, 2)),
                "status": choice(("open", "open", "shipped")),
                "tags": set(choice(("", "r", "rs"))),
            },
            "Ballot": lambda: {
                "poll": "p",
                "voter": choice(self._ids),
                "candidate": choice("xy"),
                "shards": 8,
                "salt": "s",
            },
        }
        values = drawn[entity]()
        if self._kinds and self._choices.chance(0.5):
            self._marks += 1
            values[MARK] = f"{choice(self._kinds)}:{self._marks}"
        generations = range(self._newest(entity), 0, -1)
        return image(entity, values, gen=choice(generations))

    # --- The oracle --------------------------------------------------------------------------

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
                if ".chart#" in tally:  # what this aggregate counted it keeps on expiry
                    found[tally] += amount
        return {tally: amount for tally, amount in found.items() if amount}

    def archived(self) -> Counter[str]:
        """The rows that there should be in the archive, each with how often."""
        kept = (item for item in self.expired if plan_of(item).expires is not None)
        return Counter(json.dumps(item, sort_keys=True) for item in kept)

    def _newest(self, entity: str) -> int:
        return self.newest if entity == "Song" else 1


def plan_of(item: Image) -> EntityPlan:
    """The plan of an image's generation."""
    return LEDGER.plan(item["type"]["S"], int(item["gen"]["N"]))


def touched(images: Iterable[Image | None], *, expired: bool) -> set[str]:
    """The tallies that a record with these two images changes."""
    amounts: defaultdict[str, Amount] = defaultdict(Amount)
    for sign, item in zip((-1, 1), images, strict=True):
        for tally, amount in derive.contributions(plan_of(item), item).items() if item else ():
            amounts[tally] += amount if sign > 0 else -amount
    kept = {tally for tally in amounts if expired and ".chart#" in tally}
    return {tally for tally, amount in amounts.items() if amount} | kept


def short(item: Image) -> str:
    """An image in a line."""
    skipped = ("PK", "SK", "created_at")
    return " ".join(
        f"{name}={next(iter(value.values()))}"
        for name, value in item.items()
        if name not in skipped
    )
