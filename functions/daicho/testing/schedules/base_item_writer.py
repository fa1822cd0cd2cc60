"""Writes base items at random, past the Book: only the stream path is tested by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from daicho.storage import attributes
from daicho.storage.attributes import Image, ItemKey, to_image
from daicho.testing.faults.code_versions import MARK
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.expiry_rules import (
    CHANGED_AT,
    build_right_ttl,
    counts_from_change,
    meets,
    render_instant,
)
from daicho.testing.oracle.recomputation import Recomputation
from daicho.testing.oracle.stream_history import (
    find_restored_rows,
    is_base_item,
    list_expired_items,
)
from daicho.testing.simulated_entities import ValueSource

LIFETIME_S = 60
"""Seconds until an item of an entity that expires does so. A restored item has those that its
entity declares."""
CREATION_INTERVAL_S = 1e-6


class BaseItemWriter:
    """Base items that are written at random, over few keys and few values, so that they meet.

    ``names``: the entities that are written. There are at most ``max_items`` of each; of one alone,
    everything happens to it.
    ``mark_kinds``: the kinds of poison and killers that some images are marked with.
    ``known_generation``: the newest generation that writers know at this time.
    ``list_generations`` returns the generations of which a writer may write an entity.
    """

    def __init__(
        self,
        deployment: SimulatedDeployment,
        names: Sequence[str],
        actions: Sequence[str],
        *,
        mark_kinds: Sequence[str] = (),
        max_items: int = 2,
    ) -> None:
        self._deployment = deployment
        self._dynamodb = deployment.dynamodb
        self._clock = deployment.clock
        self._choices = deployment.choices
        self._entities = deployment.entities
        self.names = names
        self._actions = actions
        self.mark_kinds = mark_kinds
        self.max_items = max_items
        self._ids = "123456"[:max_items]
        # Two partitions that are in different halves of the stream's hash range.
        self._partitions = "c" if max_items == 1 else "cd"
        self._marks = 0
        self.known_generation = deployment.entities.first_generation
        self.list_generations: Callable[[str], Sequence[int]] = self._list_known_generations

    @property
    def items(self) -> dict[ItemKey, Image]:
        """The base items."""
        return {key: item for key, item in self._dynamodb.items if is_base_item(item)}

    def write(self) -> str:
        """Change one item; returns a description."""
        action = self._choices.pick(self._actions)
        items = self.items
        if action == "put" or not items:
            return self.put()
        old = items[self._choices.pick(sorted(items))]
        key = attributes.get_key(old)
        if action == "touch":
            newest = self._entities.list_generations(old["type"]["S"], self.known_generation)[0]
            new = {**old, "gen": {"N": str(newest)}}
            self._dynamodb.commit(key, new)
            return f"touch {describe_image(new)}"
        if action == "edit":
            return self._change(old, key)
        if action == "move":
            return self._change(old, None)
        if action == "expire" and "ttl" in old:
            left = int(old["ttl"]["N"]) - self._clock.now().timestamp()
            if left < self._deployment.compute_max_wait():
                self._clock.advance(max(left, 0) + 1)
                self.expire(key)
                return f"expire {describe_image(old)}"
        self._dynamodb.commit(key, None)
        return f"delete {describe_image(old)}"

    def put(self) -> str:
        """Put one item; returns a description."""
        item = self.draw_image()
        self._dynamodb.commit(attributes.get_key(item), item)
        return f"put {describe_image(item)}"

    def expire(self, key: ItemKey) -> None:
        """DynamoDB's TTL process removes an item that has expired."""
        if is_base_item(self._dynamodb.find(key) or {}):
            fault_counts = self._deployment.fault_counts
            fault_counts["TTL removal"] += 1
            fault_counts["TTL race"] += self._deployment.has_waiting_change(key)
        self._dynamodb.expire(key)

    def draw_image(self, entity: str = "") -> Image:
        """An image to write, of any of the entities if none is named.

        No two are created at one instant, as the library ensures it for each process (rule 29).
        """
        self._clock.advance(CREATION_INTERVAL_S)
        entity = entity or self._choices.pick(self.names)
        source = ValueSource(self._choices.pick, self._ids, self._partitions, self._clock.now())
        plan = self._entities.ledger.current_generation(entity).plan
        values = self._entities.draw_values(plan, source)
        is_dated = "created_at" in values
        expires = None if is_dated else plan.expires
        if expires is not None and meets(expires.where, to_image(values)):
            values["ttl"] = int(self._clock.now().timestamp()) + LIFETIME_S
        if self.mark_kinds and self._choices.draw_bool(0.5):
            self._marks += 1
            values[MARK] = f"{self._choices.pick(self.mark_kinds)}:{self._marks}"
        generation = self._choices.pick(self.list_generations(entity))
        written = self._entities.ledger.find_plan(entity, generation)
        if is_dated and counts_from_change(written):
            values[CHANGED_AT] = render_instant(self._clock.now())
        image = self._entities.build_image(entity, values, generation)
        return {**image, **build_right_ttl(written, image)} if is_dated else image

    def _list_known_generations(self, entity: str) -> Sequence[int]:
        return self._entities.list_generations(entity, self.known_generation)

    def recompute(self) -> Recomputation:
        """The derived state that follows from the items at this time, and from their stream."""
        stream = self._deployment.stream
        return Recomputation(
            self._entities,
            self.items,
            list_expired_items(stream),
            find_restored_rows(stream),
            self._deployment.filled,
        )

    def _change(self, old: Image, key: ItemKey | None) -> str:
        """Change an item as the library does: everything that is no field of it stays.

        ``key``: of the changed item. None: the key is drawn, so the item may move.
        """
        drawn = self.draw_image(old["type"]["S"])
        others = {name: value for name, value in old.items() if name != MARK}
        version = read_version(old) + 1
        if key is not None and self._choices.draw_bool(0.5):
            version -= 1  # a writer that bypasses the library
        new = {**others, **drawn, "version": {"N": str(version)}}
        new |= {"ttl": old["ttl"]} if "ttl" in old else {}
        if key is not None:
            new |= {"PK": old["PK"], "SK": old["SK"]}
            plan = self._entities.find_plan(new)
            new |= {name: old[name] for name in plan.key.fields if name in old}
        elif attributes.get_key(new) != attributes.get_key(old):
            self._dynamodb.commit(attributes.get_key(old), None)
        self._dynamodb.commit(attributes.get_key(new), new)
        return f"change {describe_image(old)} to {describe_image(new)}"


def read_version(image: Image) -> int:
    """The version of an item; 0 if it has none."""
    return int(image.get("version", {}).get("N", "0"))


def describe_image(image: Image) -> str:
    """An image in one line."""
    omitted = ("PK", "SK", "created_at")
    return " ".join(
        f"{name}={next(iter(value.values()))}"
        for name, value in image.items()
        if name not in omitted
    )
