"""The judge: the figures of sales as DuckDB computes them from the rows.

It shares no code with the product: buckets of time come from DuckDB's own calendar and time zones
(its extension `icu`, which is part of its wheel), sums from its exact decimals. Only the rounding
of a mean and a variance is done here, by fractions.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb

from tests.support.judged_sales.sales import SaleRow

PLACES = 12
SHARES = tuple(map(Decimal, ("0.01", "0.1", "0.25", "0.5", "0.75", "0.9", "0.99", "1")))
"""The percentiles that are compared."""
EDGES: Mapping[str, tuple[Decimal, ...]] = {
    "price": tuple(Decimal(edge) for edge in range(0, 201, 10)),
    "pieces": (
        *map(Decimal, ("1", "2.15443", "4.64159", "10", "21.5443", "46.4159")),
        *map(Decimal, ("100", "215.443", "464.159", "1000")),
    ),
}
"""The edges of buckets, by field."""
TYPES = {"price": "DECIMAL(18,2)", "pieces": "BIGINT"}
LABELS = {
    "hour": "strftime(timezone('UTC', sold_at) - (local - date_trunc('hour', local)), "
    "'%Y-%m-%dT%H:%MZ')",
    "day": "strftime(local, '%Y-%m-%d')",
    "week": "strftime(date_trunc('week', local), '%Y-%m-%d')",
    "sunday week": "strftime(date_trunc('week', local + INTERVAL 1 DAY) - INTERVAL 1 DAY, "
    "'%Y-%m-%d')",
    "month": "strftime(local, '%Y-%m')",
    "quarter": "strftime(local, '%Y') || '-Q' || quarter(local)",
    "year": "strftime(local, '%Y')",
    "range": "''",
}  # fmt: skip
"""The label of the bucket of a sale, as SQL; ``local``: its time by the clock of a zone.

An hour is named by its local beginning in UTC. A range is one bucket.
"""
_CREATE = """
CREATE TABLE sales(
    id VARCHAR, shop VARCHAR, sold_at TIMESTAMPTZ, price DECIMAL(18,2), pieces BIGINT
)
"""
_INSERT = """
INSERT INTO sales SELECT
    unnest($ids::VARCHAR[]), unnest($shops::VARCHAR[]), unnest($instants::VARCHAR[])::TIMESTAMPTZ,
    unnest($prices::VARCHAR[])::DECIMAL(18,2), unnest($pieces::VARCHAR[])::BIGINT
"""
_FIELD_COLUMNS = """
    count({field}), sum({field}), sum({field}::{wide} * {field}::{wide}),
    min({field}), max({field}), avg({field}), var_pop({field}),
    quantile_disc({field}, [{shares}]), [{counts}]
"""


@dataclass(frozen=True)
class JudgedField:
    """The figures of one field, of the sales that have a value.

    ``mean`` and ``variance`` are exact, rounded half to even to 12 places; ``float_mean`` and
    ``float_variance`` are DuckDB's own. ``counts``: by bucket. ``percentiles``: of `SHARES`, by
    nearest rank. None where there is no value.
    """

    count: int
    total: Decimal
    low: Decimal | None
    high: Decimal | None
    mean: Decimal | None
    variance: Decimal | None
    float_mean: float | None
    float_variance: float | None
    percentiles: tuple[Decimal, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Judged:
    """The figures of some sales. ``first`` and ``last``: the earliest and the latest instant."""

    items: int
    first: dt.datetime
    last: dt.datetime
    fields: Mapping[str, JudgedField]


class Judge:
    """Answers from the rows of sales."""

    def __init__(self, sales: Iterable[SaleRow]) -> None:
        rows = list(sales)
        self._engine = duckdb.connect(":memory:", config={"threads": 1})
        self._engine.execute("LOAD icu")
        self._engine.execute("SET TimeZone = 'UTC'")
        self._engine.execute(_CREATE)
        columns = {
            "ids": [row.id for row in rows],
            "shops": [row.shop for row in rows],
            "instants": [row.sold_at.isoformat() for row in rows],
            "prices": [_render(row.price) for row in rows],
            "pieces": [_render(row.pieces) for row in rows],
        }
        self._engine.execute(_INSERT, columns)
        (self.count,) = self._query("SELECT count(*) FROM sales", {})[0]
        if self.count != len(rows):
            raise RuntimeError(f"DuckDB has {self.count} of {len(rows)} sales")

    def compute_by_shop(self) -> dict[str, Judged]:
        """The figures of each shop."""
        return {shop: judged for (shop, _), judged in self.compute("UTC", "range").items()}

    def compute(
        self,
        zone: str,
        step: str,
        since: dt.datetime | None = None,
        until: dt.datetime | None = None,
        *,
        by_shop: bool = True,
    ) -> dict[tuple[str, str], Judged]:
        """The figures by shop and label of a bucket, of the sales from ``since`` to ``until``.

        ``by_shop``: otherwise all shops are one, of the name ``''``. Buckets without a sale are
        left out.
        """
        fields = ",".join(_render_columns(field) for field in EDGES)
        statement = f"""
            SELECT {"shop" if by_shop else "''"} AS sold_in, {LABELS[step]} AS label, count(*),
                timezone('UTC', min(sold_at)), timezone('UTC', max(sold_at)), {fields}
            FROM (SELECT *, timezone($zone, sold_at) AS local FROM sales
                WHERE sold_at >= $since::TIMESTAMPTZ AND sold_at < $until::TIMESTAMPTZ)
            GROUP BY sold_in, label
        """  # noqa: S608  # all parts are constants of this module
        bounds = {
            "zone": zone,
            "since": since.isoformat() if since else "-infinity",
            "until": until.isoformat() if until else "infinity",
        }
        return {(row[0], row[1]): _read(row[2:]) for row in self._query(statement, bounds)}

    def _query(self, statement: str, values: Mapping[str, Any]) -> Sequence[tuple[Any, ...]]:
        return self._engine.execute(statement, dict(values)).fetchall()


def compute_mean(count: int, total: Decimal) -> Decimal:
    """The exact mean, rounded half to even."""
    return _round(Fraction(total) / count)


def compute_variance(count: int, total: Decimal, squares: Decimal) -> Decimal:
    """The exact variance of the population, rounded half to even."""
    return _round(Fraction(squares) / count - (Fraction(total) / count) ** 2)


def _round(value: Fraction) -> Decimal:
    """Rounded to `PLACES`. Python rounds a fraction half to even."""
    return Decimal(f"{round(value * 10**PLACES)}e-{PLACES}")


def _render(value: object) -> str | None:
    return None if value is None else str(value)


def _render_columns(field: str) -> str:
    edges = EDGES[field]
    bounds = zip((None, *edges), (*edges, None), strict=True)
    counts = ", ".join(_render_count(field, low, high) for low, high in bounds)
    shares = ", ".join(map(str, SHARES))
    wide = "HUGEINT" if TYPES[field] == "BIGINT" else TYPES[field]
    return _FIELD_COLUMNS.format(field=field, wide=wide, shares=shares, counts=counts)


def _render_count(field: str, low: Decimal | None, high: Decimal | None) -> str:
    conditions = [] if low is None else [f"{field} >= {low}"]
    conditions += [] if high is None else [f"{field} < {high}"]
    return f"count(*) FILTER ({' AND '.join(conditions)})"


def _read(row: Sequence[Any]) -> Judged:
    items, first, last, *values = row
    width = len(values) // len(EDGES)
    fields = {
        field: _read_field(values[place * width : (place + 1) * width])
        for place, field in enumerate(EDGES)
    }
    return Judged(items, first.replace(tzinfo=dt.UTC), last.replace(tzinfo=dt.UTC), fields)


def _read_field(values: Sequence[Any]) -> JudgedField:
    count, total, squares, low, high, mean, variance, percentiles, counts = values
    if not count:
        return JudgedField(
            0, Decimal(0), None, None, None, None, None, None, (), tuple(counts)
        )  # fmt: skip
    total, squares = Decimal(total), Decimal(squares)
    return JudgedField(
        count=count,
        total=total,
        low=Decimal(low),
        high=Decimal(high),
        mean=compute_mean(count, total),
        variance=compute_variance(count, total, squares),
        float_mean=mean,
        float_variance=variance,
        percentiles=tuple(Decimal(value) for value in percentiles),
        counts=tuple(counts),
    )
