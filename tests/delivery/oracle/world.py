"""Writers of base items, and what should follow from what they wrote: the oracle."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from daicho.derive import derived_items
from daicho.derive.contributions import Amount
from daicho.derive.index_row import IndexRow
from daicho.storage import item_key
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from tests.delivery.aws.dynamo import Dynamo
from tests.delivery.clock import Clock
from tests.delivery.code import MARK
from tests.delivery.declared import BY_HAND, Declared, Drawing
from tests.delivery.schedules.choices import Choices

LIVES = 60


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
        declared: Declared = BY_HAND,
    ) -> None:
        self._table = table
        self._clock = clock
        self._choices = choices
        self._entities = entities
        self._declared = declared
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
            self._table.commit(item_key.get_key(item), item)
            return f"put {short(item)}"
        old = items[self._choices.pick(sorted(items))]
        key = item_key.get_key(old)
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
        entity = self._choices.pick(self._entities)
        drawing = Drawing(self._choices.pick, self._ids, self._customers, self._clock.now())
        plan = self._declared.newest.current_generation(entity).plan
        values = self._declared.draw(plan, drawing)
        if plan.expires is not None:
            values["ttl"] = int(self._clock.now().timestamp()) + LIVES
        if self._kinds and self._choices.chance(0.5):
            self._marks += 1
            values[MARK] = f"{self._choices.pick(self._kinds)}:{self._marks}"
        generations = range(self._newest(entity), 0, -1)
        return self._declared.image(entity, values, self._choices.pick(generations))

    # --- The oracle --------------------------------------------------------------------------

    def rows(self) -> dict[ItemKey, IndexRow]:
        """The derived items that there should be."""
        found: dict[ItemKey, IndexRow] = {}
        for item in self.items.values():
            found.update(derived_items.compute_index_rows(self._declared.plan_of(item), item))
        return found

    def amounts(self) -> dict[str, Amount]:
        """The tallies that there should be."""
        found: defaultdict[str, Amount] = defaultdict(Amount)
        for item in self.items.values():
            for tally, amount in self._declared.contributions(item).items():
                found[tally] += amount
        for item in self.expired:
            for tally, amount in self._declared.kept(item).items():
                found[tally] += amount
        return {tally: amount for tally, amount in found.items() if amount}

    def archived(self) -> Counter[str]:
        """The rows that there should be in the archive, each with how often."""
        archived = self._declared.newest.archived_types
        kept = (item for item in self.expired if item["type"]["S"] in archived)
        return Counter(json.dumps(item, sort_keys=True) for item in kept)

    @property
    def expired_types(self) -> set[str]:
        """Entities of which something expired that is archived."""
        found = {item["type"]["S"] for item in self.expired}
        return found & set(self._declared.newest.archived_types)

    def _newest(self, entity: str) -> int:
        return self._declared.generation(entity, self.newest)


def short(item: Image) -> str:
    """An image in a line."""
    skipped = ("PK", "SK", "created_at")
    return " ".join(
        f"{name}={next(iter(value.values()))}"
        for name, value in item.items()
        if name not in skipped
    )
