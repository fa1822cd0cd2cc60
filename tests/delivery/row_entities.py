"""Entities whose rows are easy to derive wrongly: every kind of search and of listing.

Their values are of several scripts, and contain what keys escape.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from daicho import (
    Domain,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    day,
    each,
    field,
    folded,
    month,
    one_of,
)
from daicho.declare.registry import Daicho
from daicho.plan import EntityPlan, Ledger
from daicho.testing.simulated_entities import TIMES, ValueSource, simulate_ledger


class Firm(Entity):
    """Searched by the beginning of words and by what is inside them, in all kinds of fields."""

    id: str = field()
    name: str = field(default="")
    company: str = field(default="", kind="company")
    phone: str = field(default="", kind="phone")

    key = Key(id)
    search = Search(name, company, phone)
    inside = Search(name, phone, mode="contains", shards=2)
    sparse = Search(name, company, steps=(1, 3), shards=3)
    named = Listing(folded(name))


class Case(Entity):
    """Listed under conditions, in several orders, for each of a set, with copies and in shards."""

    area: str = field()
    id: str = field()
    stage: str | None = field(default=None)
    rank: int = field()
    done: bool = field()
    tags: set[str] = field(default_factory=set)
    price: Decimal | None = field(default=None)
    at: dt.datetime = field()

    key = Key(area, id)
    all = Listing(shards=3)
    open = Listing(area, order=rank, where=one_of(done, False))
    staged = Listing(stage, order=(done, at))
    ranked = Listing(rank, order=stage)
    tagged = Listing(each(tags), copies=(tags, price))
    monthly = Listing(month(at), done, shards=2)
    daily = Listing(day(at, "Asia/Tokyo"), each(tags), where=one_of(stage, "open", "a#b"))
    expires = Expires(dt.timedelta(hours=1))


NAMES = (
    *("", "Ab", "ＡＢＣ d", "Straße é", "a#b $c", "e\u0301\u0378x", "ab cd abcdefghij"),
    *("山田 太郎", "やまだ", "ﾔﾏﾀﾞ商店", "株式会社の本", "№ 5"),
    *("Łódź-Ørsted", "O’Brien at&t", "שָׁלוֹם ٠٣"),
)
COMPANIES = ("", "(株)山田", "㈱ヤマダ商事", "Ab Co., Ltd.", "a.b. Inc. c", "有限会社 東京")
PHONES = ("", "03-1234-5678", "+81 (0)3 12", "12 ext. 3", "0", "8", "+44 20 7946 0018")
IDS = {"1": "1", "2": "a#$ b", "3": "é\x00台"}
"""Ids that keys escape, and others."""


def draw_row_values(plan: EntityPlan, source: ValueSource) -> dict[str, Any]:
    """Values that are in several rows, and in others after each change."""
    pick = source.pick
    if plan.name == "Firm":
        texts = {"name": pick(NAMES), "company": pick(COMPANIES), "phone": pick(PHONES)}
        return {"id": IDS[pick(source.ids)], **texts}
    values = {
        "area": pick(source.partitions),
        "id": IDS[pick(source.ids)],
        "stage": pick((None, "open", "Open", "a#b", "a")),
        "rank": pick((-20, -3, 0, 1, 10**18)),
        "done": pick((False, True)),
        "tags": pick((set(), {"r"}, {"s", "r s"})),
        "price": pick((None, Decimal("1.5"), Decimal(2))),
        "at": pick(TIMES),
    }
    return {name: value for name, value in values.items() if value is not None}


def build_ledger() -> Ledger:
    """A ledger whose first generation was written by the first fold, so that rows of it retire."""
    daicho = Daicho(Domain("rows", Firm, Case))
    first = daicho.append_generations(Ledger()).to_json()
    (firm,) = first["entities"]["Firm"]
    for search in firm["plan"]["searches"]:
        search.pop("fold_version")
        search.pop("regions", None)
    for listing in firm["plan"]["listings"]:
        for part in listing["partition"]:
            part.pop("fold_version", None)
    return daicho.append_generations(Ledger.from_json(first))


LEDGER = build_ledger()
_BY_TYPE = simulate_ledger(LEDGER)
ENTITIES = type(_BY_TYPE)(_BY_TYPE.ledgers, draw_row_values, _BY_TYPE.first_generation)
