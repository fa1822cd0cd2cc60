"""Whether answers with figures include what their time promises, and none is older (rule 55).

An instance of the API answers with the figure of every tally. Each must be the sum of all records
that were made before the time of the answer, and of any choice of the later ones. What a record
adds is computed without the library (`daicho.testing.oracle.rows.plain_amounts`). No answer has an
earlier time than one of the same kind that had ended before it began.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from daicho.derive.contributions import Amount
from daicho.storage.item_cache import ItemCache
from daicho.storage.protocols import try_put
from daicho.storage.table import Table
from daicho.tally.reader import read_live_amount, read_rolled_up_amount
from daicho.tally.watermark import Watermark, read_as_of, store_watermark
from daicho.testing.aws.table_stream import Record
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.rows.plain_amounts import add_exactly
from daicho.testing.oracle.stream_history import is_base_item

INSTANCES = 3
"""Instances of the API, each with a cache of its own."""
MAX_LATER = 8
"""Later records of a tally of which every choice is tried. With more, it is not compared."""
Addition = tuple[float, Amount]
"""When a record was made, in epoch seconds, and what it adds to a tally."""


class FigureAnswers:
    """Answers of the API instances of a deployment. ``violations`` gets what is wrong, by line."""

    def __init__(self, deployment: SimulatedDeployment, violations: list[str]) -> None:
        self._deployment = deployment
        self._violations = violations
        self._caches = [ItemCache(deployment.clock.now) for _ in range(INSTANCES)]
        self._newest: defaultdict[str, float] = defaultdict(float)
        # The absence of a watermark is cached for a while.
        try_put(deployment.open_table(), store_watermark(Watermark(revision=1)))

    def answer(self, table: Table, instance: int) -> None:
        """Read the figures of all tallies, live and rolled up, and judge them."""
        for kind, read in (("live", read_live_amount), ("rolled up", read_rolled_up_amount)):
            earlier = self._newest[kind]
            as_of = read_as_of(table, self._caches[instance], rolled_up=kind == "rolled up").time
            time = 0.0 if as_of is None else as_of.timestamp()
            if time < earlier:
                self._violations.append(f"as of: {kind} moves back by {earlier - time} seconds")
            figures = {tally: read(table, tally) for tally in self._list_additions()}
            self._newest[kind] = max(self._newest[kind], time)
            for tally, added in self._list_additions().items():
                if tally in figures and not self._includes(figures[tally], added, time):
                    wrong = f"as of: {kind} {tally} is {figures[tally]} as of {as_of}"
                    self._violations.append(wrong)

    def _includes(self, figure: Amount, additions: list[Addition], time: float) -> bool:
        """Whether a figure is the sum of all additions before a time, and of some later ones."""
        amount, later = Amount(), []
        for at, addition in additions:
            if at < time:
                amount = add_exactly(amount, addition)
            else:
                later.append(addition)
        if not time or len(later) > MAX_LATER:
            return True
        self._deployment.fault_counts["figure compared with its time"] += 1
        sums = {amount}
        for addition in later:
            sums |= {add_exactly(each, addition) for each in sums}
        return figure in sums

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
