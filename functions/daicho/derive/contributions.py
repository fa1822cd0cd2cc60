"""The contributions of a base item to tallies: a pure function of its image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Context, Decimal, Inexact
from functools import lru_cache
from typing import Any
from zlib import crc32

from daicho.derive.figures import MAX_SQUARED_DIGITS, Buckets
from daicho.layout.item_keys import (
    UnderivableError,
    list_combinations,
    meets_condition,
    render_group_tally,
    render_part,
)
from daicho.plan import AggregatePlan, EntityPlan, Part
from daicho.plan.figures.series import CODE_END, BucketPlace, locate_bucket
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image

MAX_ROWS = 400
"""Derived items that one base item may have."""
MAX_GROUPS = 99
"""Groups that one base item may count in, of what is declared and of what retires separately. The
slots of 99 groups and a claim are one transaction, so that a record of the item that was set aside
can be counted at once (EXACTNESS rules 2, 15); tallies of more groups are listed for a recount."""


# Decimal's own context would round sums to 28 digits; this one raises before it rounds.
_EXACT = Context(prec=60, traps=[Inexact])
_ZERO, _ONE = Decimal(0), Decimal(1)
Parts = tuple[tuple[str, Decimal], ...]
"""Names and values, sorted."""


@dataclass(frozen=True)
class Amount:
    """A contribution to a tally: the number of items, and the sum of their measured values.

    ``parts``: further numbers that are added up, such as a sum of squares: sorted names, and values
    other than 0. Equal amounts have equal parts.
    """

    items: int = 0
    total: Decimal = Decimal(0)
    parts: Parts = ()

    def __add__(self, other: Amount) -> Amount:
        total = _EXACT.add(self.total, other.total)
        return Amount(self.items + other.items, total, _add_parts((self.parts, other.parts)))

    def __neg__(self) -> Amount:
        parts = tuple((name, _EXACT.minus(value)) for name, value in self.parts)
        return Amount(-self.items, _EXACT.minus(self.total), parts)

    def __bool__(self) -> bool:
        return bool(self.items or self.total or self.parts)

    def get_part(self, name: str) -> Decimal:
        """One of the further numbers; 0 if nothing was added to it."""
        return dict(self.parts).get(name, _ZERO)


ONE_ITEM = Amount(1, Decimal(1))
"""The contribution to a count."""


def sum_amounts(amounts: Iterable[Amount]) -> Amount:
    """The sum of some amounts; exact, as each addition of two is."""
    items, total = 0, _ZERO
    parts: list[Parts] = []
    for amount in amounts:
        items += amount.items
        total = _EXACT.add(total, amount.total)
        if amount.parts:
            parts.append(amount.parts)
    return Amount(items, total, _add_parts(parts))


def split_parts(amount: Amount, pieces: int) -> list[Amount]:
    """Amounts whose sum is ``amount``; a hash of its name decides in which one a part is."""
    by_piece: list[list[tuple[str, Decimal]]] = [[] for _ in range(pieces)]
    for name, value in amount.parts:
        by_piece[crc32(name.encode()) % pieces].append((name, value))
    first, *others = by_piece
    return [replace(amount, parts=tuple(first)), *(Amount(parts=tuple(each)) for each in others)]


def _add_parts(summands: Sequence[Parts]) -> Parts:
    """The sum of parts by name; exact."""
    filled = [parts for parts in summands if parts]
    if len(filled) < 2:  # one has nothing to be added to it
        return filled[0] if filled else ()
    sums: dict[str, Decimal] = {}
    for parts in filled:
        for name, value in parts:
            sums[name] = _EXACT.add(sums[name], value) if name in sums else value
    return tuple(sorted((name, value) for name, value in sums.items() if value))


def compute_contributions(plan: EntityPlan, image: Image) -> dict[str, Amount]:
    """The contributions of a base item: partition keys of tallies, and amounts.

    A pure function of the image, so that old and new image give the exact difference.

    Raises:
        UnderivableError: over 99 groups of what is declared, or of what retires (rule 25). Each
            is a write.
    """
    amounts = _compute_amounts(plan, image, plan.aggregates)
    if plan.has_retiring:
        amounts |= _compute_amounts(plan, image, plan.retiring.aggregates)
    return amounts


def _compute_amounts(
    plan: EntityPlan, image: Image, aggregates: Sequence[AggregatePlan]
) -> dict[str, Amount]:
    if not aggregates:
        return {}
    tenant = keys.parse_first(image["PK"]["S"])
    amounts: dict[str, Amount] = {}
    for aggregate in aggregates:
        if not meets_condition(plan, aggregate.where, image):
            continue
        amount = _measure_item(aggregate, image)
        if aggregate.figures:
            amount = replace(amount or Amount(), parts=_measure_parts(aggregate, image))
        if not amount:
            continue
        chunk: tuple[str, ...] = ()
        if aggregate.series is not None:
            place = find_place(plan, aggregate.series, image)
            if place is None:
                continue
            chunk, amount = (place.chunk,), pack_bucket(place.code, amount)
        for within in list_combinations(plan, aggregate.within, image):
            for by in list_combinations(plan, aggregate.by, image):
                tally = render_group_tally(tenant, plan, aggregate, within, by + chunk)
                amounts[tally] = amounts[tally] + amount if tally in amounts else amount
                if len(amounts) > MAX_GROUPS:
                    raise UnderivableError(
                        f"{plan.name} derives too many groups; at most {MAX_GROUPS}"
                    )
    return amounts


def find_place(plan: EntityPlan, series: Part, image: Image) -> BucketPlace | None:
    """Where an item is in a series; None if it has no value for it."""
    label = render_part(plan, series, image)
    return None if label is None else locate_bucket(series, label)


def pack_bucket(code: str, amount: Amount) -> Amount:
    """The amount of a chunk with one bucket that has this amount (`daicho.plan.figures.series`)."""
    packed = [(f"{code}{CODE_END}{name}", value) for name, value in amount.parts]
    packed.append((f"{code}{CODE_END}items", Decimal(amount.items)))
    packed.append((f"{code}{CODE_END}total", amount.total))
    parts = (*amount.parts, *(part for part in packed if part[1]))
    return replace(amount, parts=tuple(sorted(parts)))


def unpack_buckets(chunk: Amount) -> tuple[Amount, dict[str, Amount]]:
    """The amount of a whole chunk, and those of its buckets by their codes."""
    whole: list[tuple[str, Decimal]] = []
    buckets: dict[str, dict[str, Decimal]] = {}
    for name, value in chunk.parts:
        code, end, inner = name.rpartition(CODE_END)
        if end:
            buckets.setdefault(code, {})[inner] = value
        else:
            whole.append((name, value))
    amounts: dict[str, Amount] = {}
    for code, parts in buckets.items():
        items, total = int(parts.pop("items", _ZERO)), parts.pop("total", _ZERO)
        amounts[code] = Amount(items, total, tuple(sorted(parts.items())))
    return replace(chunk, parts=tuple(whole)), amounts


def _measure_item(aggregate: AggregatePlan, image: Image) -> Amount | None:
    if aggregate.measure == "count":
        return ONE_ITEM
    value = image.get(aggregate.field or "")
    if value is None or "NULL" in value:
        return None
    return Amount(1, read_summable(value["N"], aggregate.field))


def _measure_parts(aggregate: AggregatePlan, image: Image) -> Parts:
    """The further numbers of one item: see ADR 0170 for their names.

    Raises:
        UnderivableError: a value has too many digits.
    """
    parts: dict[str, Decimal] = {}
    if any(figure.kind == "count" for figure in aggregate.figures):
        parts["c"] = _ONE
    for place, measured in enumerate(aggregate.measured_fields):
        stored = image.get(measured.field)
        if stored is None or "NULL" in stored:
            continue
        value = read_summable(stored["N"], measured.field)
        parts[f"n{place}"], parts[f"s{place}"] = _ONE, value
        if measured.has_squares:
            parts[f"q{place}"] = square_value(value, measured.field)
        if measured.edges:
            parts[f"h{place}.{find_buckets(measured.edges).find(value)}"] = _ONE
    return tuple(sorted((name, value) for name, value in parts.items() if value))


def read_summable(number: Any, field: str | None) -> Decimal:
    """A number that may be added up.

    Raises:
        UnderivableError: it has too many digits.
    """
    measured = attributes.parse_number(number)
    if isinstance(number, str) and keys.is_plain_score(number):
        return measured
    try:
        keys.render_inverted_score(measured)
    except ValueError as error:
        what = f"a number that is summed has at most {keys.INTEGER_DIGITS} digits before the point"
        message = f"{what} and {keys.SCORE_PLACES} behind it"
        raise UnderivableError(message, field) from error
    return measured


def square_value(value: Decimal, field: str) -> Decimal:
    """The square of a value with a variance.

    Raises:
        UnderivableError: it has more than 14 digits, so sums of squares could have too many.
    """
    _, digits, exponent = value.as_tuple()
    length = max(len(digits) + max(int(exponent), 0), -int(exponent))
    if length > MAX_SQUARED_DIGITS:
        raise UnderivableError(
            f"a number with a variance has at most {MAX_SQUARED_DIGITS} digits", field
        )
    return _EXACT.multiply(value, value)


@lru_cache(maxsize=256)
def find_buckets(edges: tuple[str, ...]) -> Buckets:
    """The buckets of a plan."""
    return Buckets(tuple(map(Decimal, edges)))
