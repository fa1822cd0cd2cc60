"""The contributions of a base item to tallies: a pure function of its image."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, Inexact

from daicho.derive.limits import MAX_GROUPS
from daicho.layout.components import UnderivableError, list_combinations, meets_condition
from daicho.layout.item_keys import render_tally_partition
from daicho.plan import AggregatePlan, EntityPlan
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image

# Decimal's own context would round sums to 28 digits; this one raises before it rounds.
_EXACT = Context(prec=60, traps=[Inexact])


@dataclass(frozen=True)
class Amount:
    """A contribution to a tally: the number of items, and the sum of their measured values."""

    items: int = 0
    total: Decimal = Decimal(0)

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.items + other.items, _EXACT.add(self.total, other.total))

    def __neg__(self) -> Amount:
        return Amount(-self.items, _EXACT.minus(self.total))

    def __bool__(self) -> bool:
        return bool(self.items or self.total)


def compute_contributions(plan: EntityPlan, image: Image) -> dict[str, Amount]:
    """The contributions of a base item: partition keys of tallies, and amounts.

    A pure function of the image, so that old and new image give the exact difference.

    Raises:
        UnderivableError: over 99 groups of what is declared, or of what retires (rule 25). Each
            is a write.
    """
    amounts = _compute_amounts(plan, image, plan.aggregates)
    if plan.retiring:
        amounts |= _compute_amounts(plan, image, plan.retiring.aggregates)
    return amounts


def _compute_amounts(
    plan: EntityPlan, image: Image, aggregates: Sequence[AggregatePlan]
) -> dict[str, Amount]:
    if not aggregates:
        return {}
    tenant = keys.parse(image["PK"]["S"])[0]
    amounts: dict[str, Amount] = {}
    for aggregate in aggregates:
        if not meets_condition(plan, aggregate.where, image):
            continue
        amount = _measure_item(aggregate, image)
        if amount is None:
            continue
        for within in list_combinations(plan, aggregate.within, image):
            for by in list_combinations(plan, aggregate.by, image):
                tally = keys.check_partition(
                    render_tally_partition(tenant, plan, aggregate, within, by)
                )
                keys.check_sort(keys.render("0" * 29, *by))
                amounts[tally] = amounts[tally] + amount if tally in amounts else amount
                if len(amounts) > MAX_GROUPS:
                    raise UnderivableError(
                        f"{plan.name} derives too many groups; at most {MAX_GROUPS}"
                    )
    return amounts


def _measure_item(aggregate: AggregatePlan, image: Image) -> Amount | None:
    if aggregate.measure == "count":
        return Amount(1, Decimal(1))
    value = image.get(aggregate.field or "")
    if value is None or "NULL" in value:
        return None
    measured = attributes.parse_number(value["N"])
    try:
        keys.render_inverted_score(measured)
    except ValueError as error:
        what = f"a number that is summed has at most {keys.INTEGER_DIGITS} digits before the point"
        message = f"{what} and {keys.SCORE_PLACES} behind it"
        raise UnderivableError(message, aggregate.field) from error
    return Amount(1, measured)
