"""One tally as it is stored: its reading, and whether its total agrees with its slots."""

from __future__ import annotations

from daicho.derive.contributions import Amount
from daicho.errors import UnreadableError
from daicho.plan import Ledger, UnknownEntityError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.storage.table import Table
from daicho.tally import slots, total_items
from daicho.tally.rankings import build_ranking_key
from daicho.tally.reader import read_live_items
from daicho.tally.slots import TallyName
from daicho.verify.findings import Finding, Kind
from daicho.verify.tally_verdicts import TallyReading


@dataclass(frozen=True)
class CheckedTally:
    """A tally as it was read, and what is wrong with its total or its place in a ranking."""

    reading: TallyReading
    finding: Finding | None = None


def check_tally(store: Table, ledger: Ledger, tally: str) -> CheckedTally | None:
    """Read a tally; None if no lock file has its aggregate, or if it is disabled: it is purged.

    A slot has a dirty mark while the total does not include all of it. So without marks the total
    is the sum of the base and the slots, at any time (rule 12).

    Raises:
        UnavailableError: the table does not answer, or the total moved each time.
    """
    name = TallyName.parse(tally)
    if (name.aggregate, name.since) in ledger.list_disabled(name.entity):
        return None
    try:
        plan, aggregate = ledger.find_aggregate(name.entity, name.aggregate, name.since)
    except UnknownEntityError:
        return None
    total, slot_items = read_live_items(store, tally)
    reading = TallyReading.from_items(tally, total, slot_items)
    stored = slots.read_amount(total)
    try:
        total_items.check_sum(tally, total, slot_items)
    except UnreadableError as error:
        expected = "a total that its base and slots add up to"
        return CheckedTally(reading, _build_finding(Kind.TOTAL, name, tally, expected, error.fault))
    place = build_ranking_key(name, plan, aggregate, stored)
    expected = "no entry" if place is None else f"{place.pk} {place.sk}"
    found = _describe_place(total)
    if expected != found:
        return CheckedTally(reading, _build_finding(Kind.RANKING, name, tally, expected, found))
    return CheckedTally(reading)


def describe_amount(amount: Amount) -> str:
    """An amount for people: the number of items, the sum, and what else is added up."""
    further = "".join(f" {name}={value:f}" for name, value in amount.parts)
    return f"{amount.items} / {amount.total:f}{further}"


def _describe_place(total: Image | None) -> str:
    parts = [attributes.get_text(total or {}, name) or "" for name in ("GSI3PK", "GSI3SK")]
    return " ".join(parts) if any(parts) else "no entry"


def _build_finding(kind: Kind, name: TallyName, tally: str, expected: str, found: str) -> Finding:
    key = total_items.build_total_key(tally)
    return Finding(kind, name.tenant, key, expected, found)
