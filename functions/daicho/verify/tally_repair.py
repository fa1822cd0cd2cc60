"""Repairs tallies, each once, also if a step is killed and repeated (rules 37 and 39).

A correction is one transaction. It subtracts the damage from the base, brings the total up to the
slots and raises its revision. It also writes a marker, so a repeat does nothing::

    PK #corrected#<run>   SK <digest of the tally>
    tally                 the tally
    live, kept            what was subtracted from each part, as JSON

The damage stays the same while the stream counts, so it does not matter when this happens. It
requires that no newer run has begun, which would find the same damage again.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial

from daicho.derive.contributions import Amount
from daicho.errors import TransactionFailedError
from daicho.plan import Ledger
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import ConditionCheck, Delete, Put, Write, to_key_image
from daicho.storage.table import Table
from daicho.stream.claims import SHARD_ITEM_RETENTION, build_shard_key
from daicho.stream.journal import to_plain_amount
from daicho.stream.recount_list import Recount, build_recount_key
from daicho.stream.shard_items import read_shard
from daicho.tally import slots, total_items
from daicho.tally.rankings import build_ranking_key
from daicho.tally.reader import read_live_items, sum_slots
from daicho.tally.slots import TallyName
from daicho.tally.total_writer import TotalWriter
from daicho.verify.journal_run import JournalRun, OtherRunError, is_runaway
from daicho.verify.tally_verdicts import Part

MAX_ATTEMPTS = 20
"""Attempts of a repair while others write the same items."""


@dataclass(frozen=True)
class TallyRepair:
    """Repairs on one table, in one run."""

    store: Table
    ledger: Ledger
    run: JournalRun
    now: Callable[[], dt.datetime]
    retry_budget: RetryBudget

    def correct(self, tally: str, damage: Mapping[Part, Amount]) -> bool:
        """Subtract the damage of a tally from its bases; whether that is done.

        Raises:
            OtherRunError: a newer run has begun.
            UnavailableError: it is unknown whether it is done; call again.
        """
        marker: Image = {
            **to_key_image(build_marker_key(self.run.id, tally)),
            "tally": {"S": tally},
            **{part: {"S": json.dumps(to_plain_amount(each))} for part, each in damage.items()},
            "ttl": attributes.to_value(int((self.now() + SHARD_ITEM_RETENTION).timestamp())),
        }
        for _ in range(MAX_ATTEMPTS):
            writes: list[Write] = [
                self.run.require_newest(),
                Put(marker, "attribute_not_exists(PK)"),
                self._build_correction(tally, damage),
            ]
            try:
                retry(partial(self.store.transact, writes), self.retry_budget)
            except TransactionFailedError as error:
                if 0 in error.refused:
                    raise OtherRunError(self.run.id) from None
                if 1 in error.refused:
                    return True  # it was corrected before
            else:
                return True
        return False

    def write_total(self, tally: str) -> bool:
        """Bring a total and its place in a ranking up to its slots; whether that is done."""
        writer = TotalWriter(self.store, self.ledger)
        write = partial(writer.write_total, tally)
        return any(retry(write, self.retry_budget) is not None for _ in range(MAX_ATTEMPTS))

    def lower_number(self, key: ItemKey) -> bool:
        """Lower the number of a slot to what its shard has announced, if it is above all of that.

        Nothing may be announced meanwhile. What was announced was refused by the slot, or may be:
        it counts as counted, so what was lost is damage. Whatever is announced later is counted.
        """
        _, shard = keys.parse(key.sk)
        for _ in range(MAX_ATTEMPTS):
            slot = self.store.get(key, consistent=True)
            item = read_shard(self.store, shard)
            if slot is None or not is_runaway(slot, item):
                return True
            announced = {":announced": {"S": item.announced}}
            writes: list[Write] = [
                slots.lower_number(slot, item.announced),
                ConditionCheck(build_shard_key(shard), "announced = :announced", values=announced),
            ]
            try:
                retry(partial(self.store.transact, writes), self.retry_budget)
            except TransactionFailedError:
                continue
        return False

    def remove_recount(self, recount: Recount) -> None:
        """Take a tally off the recount list, unless it was listed again since it was read."""
        values = attributes.to_image({":since": recount.since})
        condition, numbers = "#since = :since AND attribute_not_exists(#numbers)", {}
        if recount.numbers:
            condition = "#since = :since AND #numbers = :numbers"
            numbers = {":numbers": {"SS": list(recount.numbers)}}
        removal = Delete(
            build_recount_key(recount.tally),
            condition,
            {"#since": "since", "#numbers": "numbers"},
            {**values, **numbers},
        )
        try:
            retry(partial(self.store.transact, [removal]), self.retry_budget)
        except TransactionFailedError:
            return  # another record could not be decided: it stays

    def _build_correction(self, tally: str, damage: Mapping[Part, Amount]) -> Put:
        read = partial(read_live_items, self.store, tally)
        stored, slot_items = retry(read, self.retry_budget)
        live, kept = total_items.read_bases(stored)
        total = total_items.correct_bases(
            stored, live + -damage.get("live", _NONE), kept + -damage.get("kept", _NONE)
        )
        amount = total_items.read_base(total) + sum_slots(slot_items)
        name = TallyName.parse(tally)
        plan, aggregate = self.ledger.find_aggregate(name.entity, name.aggregate, name.since)
        place = build_ranking_key(name, plan, aggregate, amount)
        return total_items.write_total(tally, total, amount, place, len(slot_items))


def build_marker_key(run: str, tally: str) -> ItemKey:
    """The key of the marker of a correction. A tally may be longer than a sort key."""
    digest = hashlib.blake2b(tally.encode(), digest_size=16).hexdigest()
    return ItemKey(keys.render("", "corrected", run), digest)


_NONE = Amount()
