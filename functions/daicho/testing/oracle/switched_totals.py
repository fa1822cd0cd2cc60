"""Whether totals include, when readers switch to an instance, what was counted in it before.

A reader of a total sees no slot. From the moment at which a rebuild was proved, the oracle notes
what is counted. At the switch, a total must be what the slots held at that moment, with all that
the rebuild has added from the archive since, and any choice of what the stream has counted later.
"""

from __future__ import annotations

from collections import defaultdict

from daicho.derive.contributions import Amount
from daicho.rebuild.job import JOB_KEY
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.tally import slots, total_items
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.instance_contents import Instance
from daicho.testing.oracle.plain_amounts import add_exactly, negate_exactly


class SwitchedTotals:
    """Notes changes of slots, and judges totals. `note` is called with each change of an item."""

    def __init__(self, deployment: SimulatedDeployment) -> None:
        self._deployment = deployment
        self._sums: defaultdict[str, Amount] = defaultdict(Amount)
        self._later: defaultdict[str, list[Amount]] = defaultdict(list)

    def note(self, key: ItemKey, old: Image | None, new: Image | None, *, by_rebuild: bool) -> None:
        """Note a change of an item."""
        if key == JOB_KEY and _is_proved(new) and not _is_proved(old):
            for tally, added in self._later.items():
                for amount in added:
                    self._sums[tally] = add_exactly(self._sums[tally], amount)
            self._later.clear()
        elif "#+" in key.pk:
            change = add_exactly(_read_amount(key, new), negate_exactly(_read_amount(key, old)))
            if by_rebuild:
                self._sums[key.pk] = add_exactly(self._sums[key.pk], change)
            elif change:
                self._later[key.pk].append(change)

    def find_differences(self, instance: Instance) -> list[str]:
        """The totals of an instance that lack something, in a line each."""
        wrong = []
        for tally in sorted({*self._sums, *self._later}):
            if not instance.owns_tally(tally):
                continue
            possible = {self._sums[tally]}
            for amount in self._later[tally]:
                possible |= {add_exactly(each, amount) for each in possible}
            total = self._deployment.dynamodb.find(total_items.build_total_key(tally))
            self._deployment.count_fault("total compared at the switch")
            if slots.read_amount(total) not in possible:
                wrong.append(f"the total of {tally} is {slots.read_amount(total)}")
        return wrong


def _is_proved(job: Image | None) -> bool:
    return job is not None and job["phase"] == {"S": "fill"}


def _read_amount(key: ItemKey, image: Image | None) -> Amount:
    """What a slot holds, or the base of a total."""
    return slots.read_amount(image) if slots.is_slot(key.sk) else total_items.read_base(image)
