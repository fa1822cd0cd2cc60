"""Writes totals by what their slots add up to.

Without what finds dirty tallies and folds idle slots: the projector, which writes some totals at
once, starts without the rollup.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from daicho.errors import UnreadableError
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.metrics import emit_damage
from daicho.storage.attributes import Image
from daicho.storage.protocols import try_put
from daicho.tally import slots, total_items
from daicho.tally.limited_table import TallyTable
from daicho.tally.rankings import build_ranking_key
from daicho.tally.reader import read_slots, sum_slots

MAX_STARTS = 3
"""How often a tally is started over when another rollup is at it; then that one has done it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RolledUpItems:
    """A total as a rollup has written it, and the slots that it has read."""

    total: Image
    slots: tuple[Image, ...]


class TotalWriter:
    """Writes totals, and their places in rankings."""

    def __init__(self, store: TallyTable, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    def write_total(self, tally: str) -> RolledUpItems | None:
        """Bring a total up to its slots (rule 12); None if another rollup is at it.

        The total's revision is read before the slots, and the total is written only if it is
        still the same. So a rollup that read older slots can never overwrite a newer total
        whose marks are gone already, nor one whose base has taken a slot meanwhile.

        Raises:
            StoreError: it is not known to be done.
            UnknownEntityError: no generation declares its aggregate.
        """
        name = slots.TallyName.parse(tally)
        plan, aggregate = self._ledger.find_aggregate(name.entity, name.aggregate, name.since)
        for _ in range(MAX_STARTS):
            total = self._store.get(total_items.build_total_key(tally), consistent=True)
            slot_items = read_slots(self._store, tally)
            amount = total_items.read_base(total) + sum_slots(slot_items)
            place = build_ranking_key(name, plan, aggregate, amount)
            total_put = total_items.write_total(tally, total, amount, place, len(slot_items))
            if try_put(self._store, total_put):
                _tell_damage(tally, total, slot_items)
                return RolledUpItems(total_put.item, slot_items)
        return None


def _tell_damage(tally: str, total: Image | None, slot_items: Sequence[Image]) -> None:
    """Tell that a total which was replaced was not what its slots added up to."""
    try:
        total_items.check_sum(tally, total, slot_items)
    except UnreadableError as error:
        _log.error("a total was damaged: %s: %s", tally, error, extra={"tally": tally})
        emit_damage(1)
