"""Whether each shard that is retired was handled completely (rule 48), and what follows.

It is checked when the mark is set. Later nothing of the shard can be delivered for the first time.
"""

from __future__ import annotations

from daicho.layout.retention import STREAM_SAFETY_WINDOW
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.tally import slots
from daicho.testing.faults.simulated_deployment import SimulatedDeployment

SHARD_ITEMS = keys.render_prefix("", "shard")


class RetirementCheck:
    """Checks the items of a deployment as they change, and counts what happens.

    ``retired``: the shards with a mark. ``violations`` gets what is wrong, in a line each.
    """

    def __init__(self, deployment: SimulatedDeployment, violations: list[str]) -> None:
        self._deployment = deployment
        self._violations = violations
        self.retired: set[str] = set()

    def check(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Check a change of an item."""
        if key.pk.startswith(SHARD_ITEMS):
            if "retired" in (new or {}) and "retired" not in (old or {}):
                self._check_mark(key.pk.removeprefix(SHARD_ITEMS))
        elif slots.is_slot(key.sk) and keys.parse(key.sk)[1] in self.retired:
            self._count(old, new)

    def _check_mark(self, shard: str) -> None:
        self.retired.add(shard)
        self._deployment.fault_counts["shard retired"] += 1
        stream_shard = self._deployment.stream.shards[shard]
        if not stream_shard.closed:
            self._violations.append(f"{shard} is retired, but open")
        if not self._deployment.mappings["project"].is_read(shard):
            self._violations.append(f"{shard} is retired, but records of it wait")

    def _count(self, old: Image | None, new: Image | None) -> None:
        oldest = self._deployment.clock.now() - STREAM_SAFETY_WINDOW
        if new is None and old is not None and int(old["at"]["N"]) > oldest.timestamp():
            self._deployment.fault_counts["slot folded early"] += 1
