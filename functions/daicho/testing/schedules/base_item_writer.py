"""Writes base items at random, past the Book: only the stream path is tested by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from daicho.storage import item_key
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.choices import Choices
from daicho.testing.clock import SimulatedClock
from daicho.testing.faults.code_versions import MARK
from daicho.testing.oracle.recomputation import Recomputation
from daicho.testing.simulated_entities import SimulatedEntities, ValueSource

LIFETIME_S = 60
"""Seconds until an item of an entity that expires does so."""


class BaseItemWriter:
    """Base items that are written at random, over few keys and few values, so that they meet.

    There are at most ``max_items`` of an entity; of one alone, everything happens to it.
    ``mark_kinds``: the kinds of poison and killers that some images are marked with.
    ``known_generation``: the newest generation that writers know at this time. ``expired``: the
    base items that TTL has removed.
    """

    def __init__(
        self,
        dynamodb: MemoryDynamoDB,
        clock: SimulatedClock,
        choices: Choices,
        entities: SimulatedEntities,
        names: Sequence[str],
        actions: Sequence[str],
        *,
        mark_kinds: Sequence[str] = (),
        max_items: int = 2,
    ) -> None:
        self._dynamodb = dynamodb
        self._clock = clock
        self._choices = choices
        self._entities = entities
        self._names = names
        self._actions = actions
        self._mark_kinds = mark_kinds
        self._ids = "123"[:max_items]
        # Two partitions that are in different halves of the stream's hash range.
        self._partitions = "c" if max_items == 1 else "cd"
        self._marks = 0
        self.known_generation = entities.first_generation
        self.expired: list[Image] = []

    @property
    def items(self) -> dict[ItemKey, Image]:
        """The base items."""
        return {key: item for key, item in self._dynamodb.items if "type" in item}

    def write(self, expire: Callable[[ItemKey], None]) -> str:
        """Change one item; returns a description. ``expire`` plays DynamoDB's TTL process."""
        action = self._choices.pick(self._actions)
        items = self.items
        if action == "put" or not items:
            item = self.draw_image()
            self._dynamodb.commit(item_key.get_key(item), item)
            return f"put {describe_image(item)}"
        old = items[self._choices.pick(sorted(items))]
        key = item_key.get_key(old)
        if action == "touch":
            newest = self._entities.list_generations(old["type"]["S"], self.known_generation)[0]
            new = {**old, "gen": {"N": str(newest)}}
            self._dynamodb.commit(key, new)
            return f"touch {describe_image(new)}"
        if action == "expire" and "ttl" in old:
            self._clock.advance(LIFETIME_S + 1)
            expire(key)
            return f"expire {describe_image(old)}"
        self._dynamodb.commit(key, None)
        return f"delete {describe_image(old)}"

    def expire(self, key: ItemKey) -> None:
        """DynamoDB's TTL process removes an item that has expired."""
        old = self._dynamodb.find(key)
        if self._dynamodb.expire(key) and old is not None and "type" in old:
            self.expired.append(old)

    def has_base_item(self, key: ItemKey) -> bool:
        """Whether a base item with this key exists."""
        return "type" in (self._dynamodb.find(key) or {})

    def draw_image(self) -> Image:
        """An image to write."""
        entity = self._choices.pick(self._names)
        source = ValueSource(self._choices.pick, self._ids, self._partitions, self._clock.now())
        plan = self._entities.ledger.current_generation(entity).plan
        values = self._entities.draw_values(plan, source)
        if plan.expires is not None:
            values["ttl"] = int(self._clock.now().timestamp()) + LIFETIME_S
        if self._mark_kinds and self._choices.draw_bool(0.5):
            self._marks += 1
            values[MARK] = f"{self._choices.pick(self._mark_kinds)}:{self._marks}"
        generations = self._entities.list_generations(entity, self.known_generation)
        return self._entities.build_image(entity, values, self._choices.pick(generations))

    def recompute(self) -> Recomputation:
        """The derived state that follows from the items at this time."""
        return Recomputation(self._entities, self.items, self.expired)


def describe_image(image: Image) -> str:
    """An image in one line."""
    omitted = ("PK", "SK", "created_at")
    return " ".join(
        f"{name}={next(iter(value.values()))}"
        for name, value in image.items()
        if name not in omitted
    )
