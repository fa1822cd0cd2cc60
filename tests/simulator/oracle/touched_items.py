"""What touches write besides the generation: the expiry of items, and their reservations.

Items are compared field by field, and times are computed from the declared seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from daicho.plan import EntityPlan, Ledger
from daicho.storage.attributes import Image
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.expiry_rules import (
    CHANGED_AT,
    build_right_ttl,
    counts_from_change,
    read_epoch,
)
from daicho.testing.oracle.stream_history import is_base_item
from tests.simulator.oracle.unique_values import compare_unique_values

TOUCH_S = 300
"""How long ago a touch was planned at most, in seconds: none is sent that was planned four minutes
ago, and a request takes less than another minute."""


class TouchedItems:
    """Checks the expiry and the reservations of the items of a table."""

    def __init__(self, deployment: SimulatedDeployment) -> None:
        self._deployment = deployment

    @property
    def _ledger(self) -> Ledger:
        return self._deployment.entities.ledger

    def is_right_touch(self, old: Image, new: Image) -> bool:
        """Whether a touch changes nothing but the generation, and the expiry where it has to.

        The expiry of an item that has expired stays. A touch may have been planned before that.
        """
        right = {**old, "gen": new["gen"]}
        has_lifetime = self._has_expired(old) or not self._has_changed_lifetime(old, new)
        if has_lifetime and right == new:
            return True
        if self._has_expired(old, TOUCH_S) or not self._has_changed_lifetime(old, new):
            return False
        for name in ("ttl", CHANGED_AT):
            right.pop(name, None)
        if counts_from_change(self._find_plan(new)):
            if not self._is_right_change(old, new):
                return False
            right[CHANGED_AT] = new[CHANGED_AT]
        return {**right, **build_right_ttl(self._find_plan(new), new)} == new

    def list_wrong_lifetimes(self, entity: str) -> Iterator[str]:
        """The items that live shorter or longer than their generation declares, in a line each."""
        if len({each.plan.expires for each in self._ledger.entities[entity]}) == 1:
            return
        for key, item in self._deployment.dynamodb.items:
            if not is_base_item(item) or item["type"]["S"] != entity or self._has_expired(item):
                continue
            right = build_right_ttl(self._find_plan(item), item).get("ttl")
            if item.get("ttl") != right:
                yield f"{key} has ttl {item.get('ttl')}, not {right}"

    def list_unreserved(self) -> list[str]:
        """The items that lack a reservation of their generation, in a line each."""
        images = (item for _, item in self._deployment.dynamodb.items)
        now = int(self._deployment.clock.now().timestamp())
        return compare_unique_values(images, self._ledger, now).lacking

    def _has_changed_lifetime(self, old: Image, new: Image) -> bool:
        """Whether a generation from the old one of an item to its new one has another lifetime."""
        first, last = (int(image["gen"]["N"]) for image in (old, new))
        generations = self._ledger.entities[new["type"]["S"]]
        return len({g.plan.expires for g in generations if first <= g.number <= last}) > 1

    def _is_right_change(self, old: Image, new: Image) -> bool:
        """Whether a touch keeps the last change of an item, or is one if that is unknown."""
        before, after = old.get(CHANGED_AT), new.get(CHANGED_AT)
        if after is None:
            return False
        if counts_from_change(self._find_plan(old)):
            return before == after
        now = int(self._deployment.clock.now().timestamp())
        return now - TOUCH_S <= read_epoch(after["S"]) <= now

    def _find_plan(self, image: Image) -> EntityPlan:
        return self._deployment.entities.find_plan(image)

    def _has_expired(self, image: Image, seconds: int = 0) -> bool:
        """Whether an item has expired, so many seconds ago or earlier."""
        now = self._deployment.clock.now().timestamp()
        return "ttl" in image and int(image["ttl"]["N"]) <= now - seconds
