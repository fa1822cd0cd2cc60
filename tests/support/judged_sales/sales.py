"""Sales: how they are drawn, and what is changed of them afterwards.

Everything follows from a seed. The shops have uneven sizes. Most sales are in the opening hours of
their shops, and some have no price or no pieces. Around each change of a clock there are sales in
the hours before and after it, and at the very instants.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

BEGIN = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
END = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SHOPS = ("centre", "harbour", "station", "market", "airport", "hill")
SHOP_WEIGHTS = (60, 20, 10, 6, 3, 1)
CLOCK_CHANGES = {
    "Europe/Berlin": (
        "2024-03-31T01:00Z", "2024-10-27T01:00Z", "2025-03-30T01:00Z", "2025-10-26T01:00Z",
    ),
    "America/New_York": (
        "2024-03-10T07:00Z", "2024-11-03T06:00Z", "2025-03-09T07:00Z", "2025-11-02T06:00Z",
    ),
    "Australia/Lord_Howe": (
        "2024-04-06T15:00Z", "2024-10-05T15:30Z", "2025-04-05T15:00Z", "2025-10-04T15:30Z",
    ),
}  # fmt: skip
"""When the clocks are set in these years, by zone. In Lord Howe they are set by half an hour."""
_AROUND_S = (-3600, -1800, -1, 0, 1, 900, 1799, 1800, 3599, 3600, 5400)
_DAY_S = 86_400
_OPENING_S, _CLOSING_S = 9 * 3600, 18 * 3600
_SHARE_WITHOUT_VALUE = 0.06
_SHARE_IN_OPENING_HOURS = 0.8
_SHARE_REFUNDED = 0.04


@dataclass(frozen=True)
class SaleRow:
    """A sale. ``price``: with two places, below 0 if it is refunded; ``pieces``: a whole number."""

    id: str
    shop: str
    sold_at: dt.datetime
    price: Decimal | None
    pieces: int | None


def draw_sales(count: int, seed: int) -> list[SaleRow]:
    """Sales of the two years, in order of time."""
    draw = random.Random(seed)  # it makes data
    instants = list(list_instants_around_clock_changes())[:count]
    while len(instants) < count:
        instants.append(_draw_instant(draw))
    return [_draw_sale(draw, f"s{n:06}", at) for n, at in enumerate(sorted(instants))]


def list_instants_around_clock_changes() -> Iterator[dt.datetime]:
    """Instants before, at and after each change of a clock."""
    for changes in CLOCK_CHANGES.values():
        for change in changes:
            for seconds in _AROUND_S:
                yield dt.datetime.fromisoformat(change) + dt.timedelta(seconds=seconds)


def draw_changes(
    sales: Sequence[SaleRow], share: float, seed: int
) -> tuple[list[SaleRow], list[SaleRow]]:
    """What is changed: the sales that are deleted, and the edited ones with their new values.

    ``share``: of the sales, half of it for each kind. An edit gives a sale other values, and often
    another shop and another time.
    """
    draw = random.Random(seed)  # it chooses changes
    changed = draw.sample(sales, 2 * max(1, round(len(sales) * share / 2)))
    half = len(changed) // 2
    return changed[:half], [_edit(draw, sale) for sale in changed[half:]]


def apply_changes(
    sales: Sequence[SaleRow], deleted: Sequence[SaleRow], edited: Sequence[SaleRow]
) -> list[SaleRow]:
    """The sales after all changes."""
    gone, by_id = {sale.id for sale in deleted}, {sale.id: sale for sale in edited}
    return [by_id.get(sale.id, sale) for sale in sales if sale.id not in gone]


def _edit(draw: random.Random, sale: SaleRow) -> SaleRow:
    other = _draw_sale(draw, sale.id, _draw_instant(draw))
    return replace(
        sale,
        price=other.price,
        pieces=other.pieces if draw.random() < 0.5 else sale.pieces,
        shop=other.shop,
        sold_at=other.sold_at if draw.random() < 0.5 else sale.sold_at,
    )


def _draw_instant(draw: random.Random) -> dt.datetime:
    days = (END - BEGIN).days
    if draw.random() < _SHARE_IN_OPENING_HOURS:
        seconds = draw.randrange(_OPENING_S, _CLOSING_S)
    else:
        seconds = draw.randrange(_DAY_S)
    milliseconds = draw.choice((0, 0, 1, 999))
    return BEGIN + dt.timedelta(draw.randrange(days), seconds, milliseconds=milliseconds)


def _draw_sale(draw: random.Random, id: str, sold_at: dt.datetime) -> SaleRow:
    (shop,) = draw.choices(SHOPS, SHOP_WEIGHTS)
    price: Decimal | None = Decimal(round(draw.lognormvariate(3.5, 1.0) * 100)).scaleb(-2)
    if price is not None and draw.random() < _SHARE_REFUNDED:
        price = -price
    if draw.random() < _SHARE_WITHOUT_VALUE:
        price = None
    pieces: int | None = min(2_000, int(draw.paretovariate(1.1)))
    if draw.random() < _SHARE_WITHOUT_VALUE:
        pieces = None
    return SaleRow(id, shop, sold_at, price, pieces)
