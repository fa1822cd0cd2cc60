"""Chinook's sales through the command, the real handlers and the API, against plain sums."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from daicho_cli.load.command import load
from tests.demonstration.support.chinook import Chinook, Row
from tests.support.api_client import Client, segment
from tests.support.deployment import Served
from tests.support.trials import IS_TRIAL

pytestmark = pytest.mark.skipif(not IS_TRIAL, reason="takes a minute: make trials")

DEARER, MOVED, REFUNDED = 100, 100, 100


@pytest.fixture(scope="module")
def chinook() -> Chinook:
    return Chinook.read()


@pytest.fixture(scope="module")
def sold(
    served: Served, acme: Client, chinook: Chinook, dynamo: str, tmp_path_factory: Any
) -> list[Row]:
    """What is sold, each sale with the genre and price that its product had when it was.

    Between the first half and the second some products become dearer and of another genre. Then
    some sales are moved to another month, and some refunded.
    """
    folder: Path = tmp_path_factory.mktemp("sales")

    def loaded(entity: str, rows: list[Row]) -> None:
        file = folder / f"{entity}-{rows[0].get('id')}.ndjson"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        load(entity, file, "acme", table=served.table.name, endpoint=dynamo)
        served.pump.run()

    draw = random.Random(20261121)
    bought = {row["song"] for row in chinook.sales}
    loaded("Product", [row for row in chinook.products if row["song"] in bought])
    products = {row["song"]: row for row in chinook.products}
    rows = draw.sample(chinook.sales, len(chinook.sales))
    first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    made = [{**products[row["song"]], **row} for row in first]
    loaded("Sale", first)
    for song in sorted({row["song"] for row in draw.sample(second, DEARER)}):
        changed = {"genre": draw.choice(["Rock", "Jazz", "Other"]), "price": "12.34"}
        products[song] = {**products[song], **changed}
        acme.good("PATCH", f"/products/{song}", changed)
    made += [{**products[row["song"]], **row} for row in second]
    loaded("Sale", second)
    served.catch_up()
    for row in draw.sample(made, MOVED):
        row["at"] = draw.choice(made)["at"]
        acme.good("PATCH", f"/sales/{row['id']}", {"at": row["at"]})
    refunded = {row["id"] for row in draw.sample(made, REFUNDED)}
    for id in refunded:
        acme.good("DELETE", f"/sales/{id}")
    served.catch_up()
    return [row for row in made if row["id"] not in refunded]


def sums(rows: list[Row], *by: str) -> dict[tuple[str, ...], tuple[int, Decimal]]:
    """How many sales and how much money, for each group."""
    found: defaultdict[tuple[str, ...], tuple[int, Decimal]]
    found = defaultdict(lambda: (0, Decimal(0)))
    for row in rows:
        known = {**row, "month": row["at"][:7]}
        group = tuple(known[name] for name in by)
        count, total = found[group]
        found[group] = count + 1, total + Decimal(row["price"])
    return dict(found)


def ranked(rows: list[Row], by: str) -> list[Row]:
    """The ranking that a plain recomputation gives: the highest first, ties by id."""
    groups = sums(rows, by)
    ordered = sorted(groups, key=lambda group: (-groups[group][1], group))
    return [
        {by: group[0], "count": groups[group][0], "total": groups[group][1], "rank": rank}
        for rank, group in enumerate(ordered, 1)
    ]


def exact(answer: Row) -> Row:
    """An answer with its money, which comes as text, as a number."""
    assert isinstance(answer["total"], str)
    return {**answer, "total": Decimal(answer["total"])}


def in_months(rows: list[Row]) -> dict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["at"][:7]].append(row)
    return dict(found)


def test_money_by_month(acme: Client, sold: list[Row]) -> None:
    wanted = sums(sold, "month")
    assert len(wanted) == 60
    for (month,), (count, total) in wanted.items():
        for live in ("", "?live=true"):
            found = acme.figure(f"/revenue/{month}{live}")
            assert exact(found) == {"month": month, "count": count, "total": total}
    assert sum(total for _, total in wanted.values()) == sum(Decimal(r["price"]) for r in sold)


def test_money_by_genre(acme: Client, sold: list[Row]) -> None:
    wanted = ranked(sold, "genre")
    assert len(wanted) > 20
    assert [exact(each) for each in acme.everything("/genre-revenue", limit=7)] == wanted
    for each in wanted:
        url = f"/genre-revenue?genre={segment(each['genre'])}"
        assert exact(acme.figure(url)) == each
        assert exact(acme.figure(f"{url}&live=true")) == each


def test_genres_of_every_month(acme: Client, sold: list[Row]) -> None:
    for month, rows in in_months(sold).items():
        wanted = ranked(rows, "genre")
        found = acme.everything(f"/revenue/{month}/genres")
        assert [exact(each) for each in found] == wanted
        last = wanted[-1]
        url = f"/revenue/{month}/genres?genre={segment(last['genre'])}"
        assert exact(acme.figure(url)) == last


def test_the_top_10_of_every_month_ties_included(acme: Client, sold: list[Row]) -> None:
    tied = 0
    for month, rows in in_months(sold).items():
        wanted = ranked(rows, "song")
        url = f"/revenue/{month}/songs?limit=10"
        page = acme.good("GET", url)
        found = [exact(each) for each in page["items"]]
        assert found == wanted[:10]
        # Whoever has as much as the tenth belongs to it too: read on while there are such.
        while page["cursor"] and found[-1]["total"] == found[9]["total"]:
            page = acme.good("GET", f"{url}&cursor={page['cursor']}")
            found += [exact(each) for each in page["items"]]
        least = wanted[:10][-1]["total"]
        top = [each for each in found if each["total"] >= least]
        assert top == [each for each in wanted if each["total"] >= least]
        tied += len(top) > 10
    assert tied > 50


def test_what_nobody_bought(acme: Client, sold: list[Row]) -> None:
    nothing = {"song": "x", "count": 0, "total": "0.00", "rank": None}
    assert acme.figure("/revenue/2031-01/songs/x") == nothing
    assert acme.figure("/revenue/2031-01") == {"month": "2031-01", "count": 0, "total": "0.00"}
    assert acme.figure("/revenue/2031-01/songs") == {"items": [], "cursor": None}
    assert sold


@pytest.mark.parametrize("price", ["0.999", "-1", "1e12", "x", None])
def test_a_price_is_money(acme: Client, price: str | None) -> None:
    answer = acme("PUT", "/products/p", {"genre": "Rock", "price": price})
    assert (answer.status, answer.fields) == (422, {"price"})


def test_only_what_is_for_sale_is_sold(acme: Client) -> None:
    answer = acme("POST", "/sales", {"song": "nothing"})
    assert (answer.status, answer.fields) == (422, {"song"})
    given = acme("POST", "/sales", {"song": "nothing", "price": "0.01"})
    assert given.status == 422
