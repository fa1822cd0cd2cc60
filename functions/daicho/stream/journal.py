"""The journal of a verification: what batches count while a run is under way (rule 36).

A run sets its flag in the item of each shard, and a batch learns of it from the answer to its
announcement. While the flag is valid, a batch writes one object before its slots: for each record
what it adds to which slot, and what its item contributes from then on. A record may be in several
objects, and is known by its shard and number. Without a flag nothing is read or written::

    PK #journal   SK run
    journal       the flag of the newest run: its id, and until when the flag is valid
    number        of the run

A shard that is new has no such attribute. Its first batch copies that of the newest run. A shard
has the number too, so a late step of an earlier run takes no flag away.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from daicho.derive.contributions import Amount
from daicho.errors import ConditionFailedError
from daicho.layout.marks import RestoredMark
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.retry import RetryBudget, retry
from daicho.storage import attributes, keys
from daicho.storage.attributes import ItemKey
from daicho.storage.protocols import apply_update
from daicho.storage.requests import Update
from daicho.storage.table import Table
from daicho.stream.changes import RecordChanges
from daicho.stream.claims import SHARD_ITEM_RETENTION, ShardClaims, build_shard_key
from daicho.stream.quarantine import QuarantineBucket
from daicho.stream.records import StreamRecord, render_sequence
from daicho.tally import slots

JOURNAL_PREFIX = "journal/"
NO_RUN = "-"
"""The flag of a shard that no run is interested in."""
MAX_RUN = dt.timedelta(hours=48)
"""How long a flag is valid: idle slots are folded after 72 hours, and their numbers are lost."""
RUN_KEY = ItemKey(keys.render("", "journal"), "run")


@dataclass(frozen=True)
class JournalFlag:
    """The flag of a run. ``until``: an instant, after which nobody may rely on the journal."""

    run: str
    until: str

    @classmethod
    def parse(cls, text: str) -> JournalFlag | None:
        """Read the attribute of a shard; None if no run is under way."""
        return None if text in ("", NO_RUN) else cls(*keys.parse(text))

    def render(self) -> str:
        """The attribute."""
        return keys.render(self.run, self.until)

    def is_valid(self, now: dt.datetime) -> bool:
        """Whether the run may still be under way."""
        return keys.render_instant(now) < self.until


class JournalEntry(NamedTuple):
    """What a record adds to a slot, and what its item contributes to the tally from then on.

    ``item``: the base item as `render_item` names it. Of a kept slot it is the row whose expiry or
    restore was counted, and it contributes the delta.
    """

    shard: str
    seq: str
    tally: str
    slot: str
    item: str
    delta: Amount
    contribution: Amount


@dataclass(frozen=True)
class Journal:
    """Writes the journal of batches. ``objects``: the failure bucket."""

    store: Table
    objects: QuarantineBucket
    now: Callable[[], dt.datetime]

    def record(
        self, shard: ShardClaims, changes: Sequence[RecordChanges], retry_budget: RetryBudget
    ) -> None:
        """Write the journal of a batch if a run is under way.

        ``shard``: as the announcement was answered. ``changes``: without records that have a claim.

        Raises:
            UnavailableError: it is not known to be written, so no slot must be.
        """
        if shard.journal == NO_RUN:
            return
        first = next((each.record for each in changes if each.deltas), None)
        if first is None:
            return
        text = shard.journal or retry(partial(self._copy_flag, shard.id), retry_budget)
        flag = JournalFlag.parse(text)
        if flag is not None and flag.is_valid(self.now()):
            body = render_batch(changes)
            # The same content has the same name, so an object that exists is this one.
            digest = hashlib.blake2b(body, digest_size=8).hexdigest()
            label, _, number = first.seq.partition("#")
            name = f"{render_batch_prefix(flag.run)}{shard.id}/{label}_{number}-{digest}.json"
            create = partial(self.objects.create, name, body, {}, "application/json")
            retry(create, retry_budget)

    def _copy_flag(self, shard: str) -> str:
        """Give a new shard the flag of the newest run; returns the flag that it has then.

        A run that begins after this has read sets its flag in all shards itself. This one has an
        item by then.
        """
        newest = self.store.get(RUN_KEY, consistent=True)
        text = NO_RUN if newest is None else newest["journal"]["S"]
        number = attributes.get_integer(newest or {}, "number") or 0
        change = set_flag_update(shard, text, self.now(), number)
        try:
            apply_update(self.store, replace(change, condition="attribute_not_exists(journal)"))
        except ConditionFailedError as refused:
            return attributes.get_text(refused.item or {}, "journal") or NO_RUN
        return text


def set_flag_update(shard: str, text: str, now: dt.datetime, number: int = 0) -> Update:
    """Set the flag in the item of a shard, which is created if it does not exist.

    It is refused if the shard has the flag of a later run. ``number``: of the run.
    """
    ttl = int((now + SHARD_ITEM_RETENTION).timestamp())
    return Update(
        build_shard_key(shard),
        "SET journal = :journal, journal_run = :number, #ttl = if_not_exists(#ttl, :ttl)",
        "attribute_not_exists(journal_run) OR journal_run <= :number",
        {"#ttl": "ttl"},
        {
            ":journal": {"S": text},
            ":number": attributes.to_value(number),
            ":ttl": attributes.to_value(ttl),
        },
    )


def render_batch_prefix(run: str) -> str:
    """How the names of the objects of a run's batches begin."""
    return f"{JOURNAL_PREFIX}{run}/batches/"


def render_item(key: ItemKey) -> str:
    """A base item as the journal names it: no rendered key has a space."""
    return f"{key.pk} {key.sk}"


def render_expiry(seq: str) -> str:
    """The expiry of an item, whose row in the archive has this number."""
    return f"expired {seq}"


def render_restore(seq: str) -> str:
    """The first restore of a row with this number."""
    return f"restored {seq}"


def parse_batch(name: str, body: bytes) -> Iterator[JournalEntry]:
    """The entries of an object. ``name``: of the object."""
    folder, _, first = name.rpartition("/")
    shard, label = folder.rpartition("/")[2], first.partition("_")[0]
    for tally, slot, entries in json.loads(body):
        for entry in entries:
            text, *changed = [entry] if isinstance(entry, str) else entry
            number, items, total, item = text.split(" ", 3)
            delta = contribution = Amount(int(items), Decimal(total))
            if changed:
                delta, contribution = map(parse_amount, changed)
            seq = render_sequence(label, number)
            yield JournalEntry(shard, seq, tally, slot, item, delta, contribution)


def to_plain_amount(amount: Amount) -> list[Any]:
    """An amount as plain JSON values."""
    plain: list[Any] = [amount.items, str(amount.total)]
    if amount.parts:
        plain.append([[name, str(value)] for name, value in amount.parts])
    return plain


def parse_amount(plain: Sequence[Any]) -> Amount:
    """Read what `to_plain_amount` wrote."""
    items, total, *parts = plain
    read = tuple((name, Decimal(value)) for name, value in (parts[0] if parts else ()))
    return Amount(items, Decimal(total), read)


def render_batch(changes: Iterable[RecordChanges]) -> bytes:
    """The object of a batch, as `parse_batch` reads it: its entries, by slot.

    Each record of a batch pays for it, so an entry is one text: the number of the record in the
    stream, what it adds, and the item. Most items contribute what their record adds. If not, an
    entry also has both amounts.
    """
    by_slot: dict[ItemKey, list[Any]] = {}
    for each in changes:
        deltas = each.deltas
        if not deltas:
            continue
        number, (pk, sk), amounts = each.record.number, each.record.key, each.amounts
        for slot, delta in deltas.items():
            entries = by_slot.get(slot)
            if entries is None:
                entries = by_slot[slot] = []
            # A key may have a space if somebody wrote the item by hand, so it is the last part.
            if amounts.get(slot.pk) is delta and not delta.parts:
                entries.append(f"{number} {delta.items} {delta.total!s} {pk} {sk}")
                continue
            item, contribution = f"{pk} {sk}", amounts.get(slot.pk, _NOTHING)
            if slot.sk.startswith(_KEPT):
                item, contribution = _name_row(each.record), delta
            amounts_of_both = map(to_plain_amount, (delta, contribution))
            entries.append([f"{number} 0 0 {item}", *amounts_of_both])
    return _encode([(*slot, entries) for slot, entries in by_slot.items()]).encode()


def _name_row(record: StreamRecord) -> str:
    """The row whose expiry or restore is counted: what expired and was restored are two events."""
    mark = None if record.expired else RestoredMark.from_image(record.new)
    return render_expiry(record.seq) if mark is None else render_restore(mark.seq)


_KEPT = keys.render_prefix(slots.KEPT_PREFIX)
_NOTHING = Amount()
_encode = json.JSONEncoder(separators=(",", ":")).encode
