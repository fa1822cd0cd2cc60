"""What an item adds to tallies, computed from its declaration alone.

It shares no code with `daicho.derive`, `daicho.search`, `daicho.storage.keys` and
`daicho.plan.calendar`, which are under test.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Context, Decimal, Inexact
from functools import lru_cache
from importlib import resources
from itertools import product
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from daicho.derive.contributions import Amount
from daicho.plan import AggregatePlan, Condition, EntityPlan, Part
from daicho.storage.attributes import Image
from daicho.testing.oracle.rows.plain_keys import render_integer, render_tally
from daicho.testing.oracle.rows.plain_texts import fold_plainly

_EXACT = Context(prec=400, traps=[Inexact])
"""More digits than any sum has: the library's own arithmetic is under test."""
_CODES = {"hour": slice(8, 16), "day": slice(8, 10), "year": slice(0, 4)}
"""Which characters of a label name a bucket within its chunk; of other units, from the fifth on."""


class PlainGroup(NamedTuple):
    """A group of an item: its components, and of a series the chunk and the bucket there."""

    within: tuple[str, ...]
    by: tuple[str, ...]
    chunk: str = ""
    code: str = ""

    def render_tally(self, plan: EntityPlan, aggregate: AggregatePlan, image: Image) -> str:
        """The tally that counts it. ``image``: of any item of the same tenant."""
        group = (*self.within, *self.by, *([self.chunk] if self.code else ()))
        return render_tally(image["PK"]["S"].partition("#")[0], plan.name, aggregate, group)


def compute_plain_amounts(
    plan: EntityPlan, image: Image, instance: tuple[str, int] | None = None
) -> dict[str, Amount]:
    """What an image contributes, by tally. ``instance``: a name and ``since``; None for all."""
    amounts: dict[str, Amount] = {}
    for aggregate in (*plan.aggregates, *plan.retiring.aggregates):
        if instance not in (None, (aggregate.name, aggregate.since)):
            continue
        amount = _measure(aggregate, image)
        if amount is None:
            continue
        for group in list_plain_groups(plan, aggregate, image):
            tally = group.render_tally(plan, aggregate, image)
            added = amount if not group.code else _put_in_bucket(amount, group.code)
            amounts[tally] = add_exactly(amounts.get(tally, Amount()), added)
    return amounts


def list_plain_groups(
    plan: EntityPlan, aggregate: AggregatePlan, image: Image
) -> Iterator[PlainGroup]:
    """The groups of an aggregate that an item belongs to."""
    if not meets_plainly(plan, aggregate.where, image):
        return
    chunk, code = "", ""
    if aggregate.series is not None:
        labels = list_plain_values(plan, aggregate.series, image)
        if not labels:
            return
        chunk, code = _locate(aggregate.series, image, labels[0])
    choices = [list_plain_values(plan, part, image) for part in (*aggregate.within, *aggregate.by)]
    split = len(aggregate.within)
    for parts in product(*choices):
        yield PlainGroup(parts[:split], parts[split:], chunk, code)


def read_number(image: Image, field: str | None) -> Decimal | None:
    """The number in a field; None if there is none."""
    value = image.get(field or "")
    return Decimal(value["N"]) if value is not None and "N" in value else None


def add_exactly(one: Amount, other: Amount) -> Amount:
    """The sum of two amounts, computed without the library."""
    parts = dict(one.parts)
    for name, value in other.parts:
        parts[name] = _EXACT.add(parts.get(name, Decimal(0)), value)
    kept = tuple(sorted((name, value) for name, value in parts.items() if value != 0))
    return Amount(one.items + other.items, _EXACT.add(one.total, other.total), kept)


def negate_exactly(amount: Amount) -> Amount:
    """What undoes an amount, computed without the library."""
    parts = tuple((name, value.copy_negate()) for name, value in amount.parts)
    return Amount(-amount.items, amount.total.copy_negate(), parts)


def _measure(aggregate: AggregatePlan, image: Image) -> Amount | None:
    items, total = 1, Decimal(1)
    if aggregate.measure == "sum":
        value = read_number(image, aggregate.field)
        items, total = (0, Decimal(0)) if value is None else (1, value)
    parts: dict[str, Decimal] = {}
    fields = list(dict.fromkeys(figure.field for figure in aggregate.figures if figure.field))
    for figure in aggregate.figures:
        if figure.kind == "count":
            parts["c"] = Decimal(1)
            continue
        place, value = fields.index(figure.field or ""), read_number(image, figure.field)
        if value is None:
            continue
        parts[f"n{place}"], parts[f"s{place}"] = Decimal(1), value
        if figure.kind == "variance":
            parts[f"q{place}"] = _EXACT.multiply(value, value)
        if figure.kind == "percentiles":
            bucket = sum(Decimal(edge) <= value for edge in figure.edges)
            parts[f"h{place}.{bucket}"] = Decimal(1)
    if not items and not parts:
        return None
    kept = tuple(sorted((name, value) for name, value in parts.items() if value != 0))
    return Amount(items, total, kept)


def _put_in_bucket(amount: Amount, code: str) -> Amount:
    own = [*amount.parts, ("items", Decimal(amount.items)), ("total", amount.total)]
    packed = [(f"{code}:{name}", value) for name, value in own if value != 0]
    return Amount(amount.items, amount.total, tuple(sorted((*amount.parts, *packed))))


def meets_plainly(plan: EntityPlan, where: Condition | None, image: Image) -> bool:
    """Whether an image meets the condition of a declaration."""
    if where is None:
        return True
    return read_plain_text(plan, where.field, image) in {str(value) for value in where.one_of}


def list_plain_values(plan: EntityPlan, part: Part, image: Image) -> list[str]:
    """The components of a part: several of a set, none without a value."""
    if part.each:
        value: Mapping[str, Any] = image.get(part.field, {})
        return sorted({*value.get("SS", ()), *([value["S"]] if "S" in value else [])})
    if part.edges:
        number = read_number(image, part.field)
        if number is None:
            return []
        below = [edge for edge in part.edges if Decimal(edge) <= number]
        above = [edge for edge in part.edges if Decimal(edge) > number]
        return [f"{below[-1] if below else ''}..{above[0] if above else ''}"]
    text = read_plain_text(plan, part.field, image)
    if text is None:
        return []
    if part.folded:
        folded = fold_plainly(text, part.fold_version)
        return [folded] if folded else []
    return [text if part.bucket is None else _render_label(part, text)]


def read_plain_text(plan: EntityPlan, field: str, image: Image) -> str | None:
    """The value of a field as a component of a key; None without one."""
    value = image.get(field)
    if value is None or "NULL" in value:
        return None
    if "BOOL" in value:
        return "true" if value["BOOL"] else "false"
    if "N" in value:
        is_whole = plan.fields.get(field) == "int"
        return render_integer(int(Decimal(value["N"]))) if is_whole else None
    return str(value["S"])


@lru_cache(maxsize=32)
def _open_zone(name: str) -> ZoneInfo:
    with resources.files("tzdata").joinpath("zoneinfo", name).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def _render_label(part: Part, text: str) -> str:
    if len(text) == len("2026-11-21"):
        return _render_day(part, dt.date.fromisoformat(text))
    zone = dt.UTC if part.zone == "UTC" else _open_zone(part.zone)
    local = dt.datetime.fromisoformat(text).astimezone(zone)
    if part.bucket == "hour":
        wall = dt.datetime(local.year, local.month, local.day, local.hour, tzinfo=dt.UTC)
        return f"{wall - (local.utcoffset() or dt.timedelta()):%Y-%m-%dT%H:%MZ}"
    return _render_day(part, local.date())


def _render_day(part: Part, day: dt.date) -> str:
    if part.bucket == "week":
        while day.weekday() != part.first_weekday:
            day -= dt.timedelta(days=1)
    forms = {"month": f"{day:%Y-%m}", "year": f"{day:%Y}"}
    forms["quarter"] = f"{day:%Y}-Q{-(-day.month // 3)}"
    return forms.get(part.bucket or "", day.isoformat())


def _locate(part: Part, image: Image, label: str) -> tuple[str, str]:
    """The chunk of a bucket, and its code there."""
    if part.bucket == "hour":
        day = Part(part.field, "day", zone=part.zone)
        return _render_label(day, image[part.field]["S"]), label[_CODES["hour"]]
    chunk = label[:7] if part.bucket == "day" else label[:4]
    return chunk, label[_CODES.get(part.bucket or "", slice(5, None))]
