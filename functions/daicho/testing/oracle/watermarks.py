"""Whether figures include what their watermark promises (rule 55).

It is checked when the watermark changes. Slots and totals must be the sum of all records that were
made before the watermark, and of any choice of the later ones. What a record adds is computed from
the declarations, without the library (`daicho.testing.oracle.rows.plain_amounts`).
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator

from daicho.derive.contributions import Amount
from daicho.storage import keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.tally import slots, total_items
from daicho.tally.slots import TallyName
from daicho.tally.watermark import (
    WATERMARK_KEY,
    Times,
    Watermark,
    find_time,
    render_scope,
)
from daicho.testing.aws.table_stream import Record
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.differences import sum_slots
from daicho.testing.oracle.rows.plain_amounts import add_exactly
from daicho.testing.oracle.stream_history import is_base_item

MAX_LATER = 8
"""Later records of a tally of which every choice is tried. With more, it is not compared."""
Addition = tuple[float, Amount]
"""When a record was made, in epoch seconds, and what it adds to a tally."""


class WatermarkCheck:
    """Checks the watermark of a deployment as it changes.

    ``violations`` gets what is wrong, in a line each.
    """

    def __init__(self, deployment: SimulatedDeployment, violations: list[str]) -> None:
        self._deployment = deployment
        self._violations = violations

    def check(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Check a change of an item."""
        if key != WATERMARK_KEY or new is None:
            return
        before, after = Watermark.from_item(old), Watermark.from_item(new)
        self._deployment.count_fault("watermark stored")
        additions = self._list_additions()
        for name, earlier, times in (
            ("live", before.live, after.live),
            ("rolled up", before.rolled_up, after.rolled_up),
        ):
            for scope in {*earlier, *times}:
                if find_time(times, scope) < find_time(earlier, scope):
                    self._violations.append(f"watermark: {name} of {scope} moves back")
            for tally, added in additions.items():
                self._check_tally(name, times, tally, added)

    def _check_tally(self, name: str, times: Times, tally: str, added: list[Addition]) -> None:
        parts = TallyName.parse(tally)
        time = find_time(times, render_scope(parts.entity, parts.aggregate, parts.since))
        amount, later = Amount(), []
        for at, addition in added:
            if keys.render_instant(dt.datetime.fromtimestamp(at, dt.UTC)) < time:
                amount = add_exactly(amount, addition)
            else:
                later.append(addition)
        if not time or len(later) > MAX_LATER:
            return
        self._deployment.count_fault("figure compared with its watermark")
        sums = {amount}
        for addition in later:
            sums |= {add_exactly(each, addition) for each in sums}
        if name == "live":
            figure = sum_slots(self._deployment, tally)
        else:
            total = self._deployment.dynamodb.find(total_items.build_total_key(tally))
            figure = slots.read_amount(total)
        if figure not in sums:
            self._violations.append(
                f"watermark: {name} {tally} is {figure}, which lacks a record of before {time}"
            )

    def _list_additions(self) -> dict[str, list[Addition]]:
        """What the records of the stream add, by tally."""
        additions: defaultdict[str, list[Addition]] = defaultdict(list)
        for shard in self._deployment.stream.shards.values():
            for record in shard.records:
                at = record["dynamodb"]["ApproximateCreationDateTime"]
                for tally, amount in self._list_amounts(record):
                    additions[tally].append((at, amount))
        return additions

    def _list_amounts(self, record: Record) -> Iterator[tuple[str, Amount]]:
        entities, change = self._deployment.entities, record["dynamodb"]
        for name, sign in (("OldImage", -1), ("NewImage", 1)):
            image = change.get(name)
            if image is None or not is_base_item(image):
                continue
            for tally, amount in entities.compute_amounts(image).items():
                yield tally, amount if sign > 0 else -amount
            # An expired item that stays counted moves to another slot, in two writes.
            if "userIdentity" in record:
                yield from entities.compute_kept_amounts(image).items()
