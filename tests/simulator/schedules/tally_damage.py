"""Damage that is inflicted on tallies, as a program does that bypasses the library."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from daicho.derive.contributions import Amount
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey, get_key
from daicho.stream.journal import parse_amount
from daicho.tally import slots, total_items
from daicho.testing.faults.simulated_deployment import SimulatedDeployment

COPY_SHARD = "shardId-copied"
"""A shard that the stream does not have."""
CORRECTED = "#corrected#"


@dataclass
class InflictedDamage:
    """What was inflicted on each tally, and what corrections took back.

    ``touched``: the tallies on which anything was inflicted. ``inexact``: those of which nobody
    knows how much they have lost, because a slot does not refuse repeats. ``renumbered``: those of
    which a slot refuses all records until a run lowers its number.
    ``changes``: how often something was inflicted on a tally.
    """

    deployment: SimulatedDeployment
    touched: set[str] = field(default_factory=set)
    inexact: set[str] = field(default_factory=set)
    renumbered: set[str] = field(default_factory=set)
    changes: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    _amounts: defaultdict[str, Amount] = field(default_factory=lambda: defaultdict(Amount))

    @property
    def left(self) -> dict[str, Amount]:
        """What each tally has too much now."""
        left = defaultdict(Amount, self._amounts)
        for key, item in self.deployment.dynamodb.items:
            if key.pk.startswith(CORRECTED):
                for part in ("live", "kept"):
                    if part in item:
                        amount = parse_amount(json.loads(item[part]["S"]))
                        left[item["tally"]["S"]] += -amount
        return {tally: amount for tally, amount in left.items() if amount}

    def inflict(self) -> str:
        """Inflict something on an item of a tally; returns what, or "" if there is no tally."""
        choices = self.deployment.choices
        stored = self.deployment.dynamodb.items
        items = sorted((key for key, _ in stored if "#+" in key.pk and "~" not in key.pk))
        if not items:
            return ""
        key = choices.pick(items)
        item = dict(self.deployment.dynamodb.find(key) or {})
        kinds: tuple[Callable[[ItemKey, Image], None], ...]
        if slots.is_slot(key.sk):
            kinds = (self._change, self._copy, self._delete, self._run_away)
        else:
            kinds = (self._change_base, self._change_total, self._change_rank, self._invent)
        kind = choices.pick(kinds)
        kind(key, item)
        self.touched.add(key.pk)
        self.changes[key.pk] += 1
        return f"{kind.__name__.strip('_')} {key}"

    def run_away(self) -> str:
        """Give a slot a number that refuses all records; returns its tally, or "" for none."""
        stored = self.deployment.dynamodb.items
        numbered = sorted(key for key, item in stored if "#+" in key.pk and "seq" in item)
        if not numbered:
            return ""
        key = self.deployment.choices.pick(numbered)
        self._run_away(key, dict(self.deployment.dynamodb.find(key) or {}))
        self.touched.add(key.pk)
        self.changes[key.pk] += 1
        return key.pk

    def settle(self, tally: str) -> None:
        """A run has lowered the numbers of a tally's slots, and corrected its sum."""
        self._amounts[tally] += -self.left.get(tally, Amount())
        self.renumbered.discard(tally)

    def _add(self, tally: str, amount: Amount) -> None:
        self._amounts[tally] += amount

    def _commit(self, item: Image) -> None:
        """Store an item as another writer does: whoever has read it before must not change it."""
        revision = attributes.to_value(slots.read_revision(item) + 1)
        self.deployment.dynamodb.commit(get_key(item), {**item, "rev": revision})

    def _change(self, key: ItemKey, item: Image) -> None:
        added = Amount(self.deployment.choices.pick((1, 2, -1)), attributes.parse_number("3"))
        self._add(key.pk, added)
        self._commit({**item, **_render(slots.read_amount(item) + added, "")})

    def _copy(self, key: ItemKey, item: Image) -> None:
        copy = slots.build_slot_key(key.pk, COPY_SHARD)
        before = slots.read_amount(self.deployment.dynamodb.find(copy))
        self._add(key.pk, slots.read_amount(item) + -before)
        self._commit({**item, "SK": {"S": copy.sk}})

    def _delete(self, key: ItemKey, item: Image) -> None:
        self.inexact.add(key.pk)  # it refuses no repeat any more
        self.deployment.dynamodb.commit(key, None)

    def _run_away(self, key: ItemKey, item: Image) -> None:
        label, _, number = item.get("seq", {"S": "#"})["S"].partition("#")
        if number:
            self.renumbered.add(key.pk)
            self._commit({**item, "seq": {"S": f"{label}#{'9' * len(number)}"}})

    def _change_base(self, key: ItemKey, item: Image) -> None:
        live, kept = total_items.read_bases(item)
        choices = self.deployment.choices
        added = Amount(choices.pick((1, -1, 5)), attributes.parse_number("1.5"))
        self._add(key.pk, added)
        bases = (live + added, kept) if choices.draw_bool(0.5) else (live, kept + added)
        self._commit(total_items.correct_bases(item, *bases))

    def _change_total(self, key: ItemKey, item: Image) -> None:
        self._commit({**item, **_render(slots.read_amount(item) + Amount(1), "")})

    def _change_rank(self, key: ItemKey, item: Image) -> None:
        if "GSI3SK" in item:
            item = {name: value for name, value in item.items() if not name.startswith("GSI3")}
            self._commit(item)

    def _invent(self, key: ItemKey, item: Image) -> None:
        """A group that no item is in."""
        if len(keys.parse(key.pk)) < 4:
            return  # the aggregate has no groups
        tally = f"{key.pk}x"
        invented = total_items.build_total_key(tally)
        added = Amount(1, attributes.parse_number("1"))
        live, kept = total_items.read_bases(self.deployment.dynamodb.find(invented))
        self._add(tally, added + -live + -kept)
        self.touched.add(tally)
        self.changes[tally] += 1
        self._commit(
            total_items.correct_bases(
                {"PK": {"S": tally}, "SK": {"S": invented.sk}}, added, Amount()
            )
        )


def _render(amount: Amount, prefix: str) -> Image:
    return {
        f"{prefix}items": attributes.to_value(amount.items),
        f"{prefix}total": attributes.to_value(amount.total),
    }
