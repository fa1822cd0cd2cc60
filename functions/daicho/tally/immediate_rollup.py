"""Totals that the projector updates after each batch, where the aggregate declares it.

The totals and their ranking, and nothing else: the dirty marks stay where they are, so the
scheduled rollup comes by all the same. It writes the totals that failed or were late here,
folds idle slots, and clears the marks, once a minute instead of once a batch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import Mapper, RetryBudget
from daicho.tally.limited_table import LimitedTable, TallyTable
from daicho.tally.slots import TallyName
from daicho.tally.total_writer import TotalWriter

MAX_SECONDS = 5.0
"""The time that a batch gives to it: totals have their schedule, and the stream waits."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ImmediateRollup:
    """Rolls up at once the tallies of a batch that declare it; ``map_all`` runs many of them."""

    store: TallyTable
    ledger: Ledger
    map_all: Mapper = map

    def roll_up_tallies(self, tallies: Iterable[str], retry_budget: RetryBudget) -> None:
        """Bring the totals of those among ``tallies`` up to their slots. Never raises.

        Their slots were just written, so a total that is not written here loses nothing.
        """
        asking = [tally for tally in dict.fromkeys(tallies) if self._rolls_up_immediately(tally)]
        until = max(retry_budget.reserve, retry_budget.remaining() - MAX_SECONDS)
        # A batch must not end in it.
        store = LimitedTable(self.store, replace(retry_budget, reserve=until))
        totals = TotalWriter(store, self.ledger)

        def done(tally: str) -> bool:
            try:
                return totals.write_total(tally) is not None
            except Exception as error:  # no error of it matters to the batch
                _log.warning("not rolled up at once: %s", error, extra={"tally": tally})
                return False

        list(self.map_all(done, asking))

    def _rolls_up_immediately(self, tally: str) -> bool:
        name = TallyName.parse(tally)
        return (name.entity, name.aggregate, name.since) in self.ledger.immediate_aggregates
