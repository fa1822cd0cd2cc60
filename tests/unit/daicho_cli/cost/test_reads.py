"""Units of reads, against the benchmarks of pages (docs/benchmarks/writes.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho.plan import Generation, KeyPlan
from daicho_cli.cost.examples import build_image
from daicho_cli.cost.reads import (
    EntityReads,
    estimate_figures,
    estimate_vote_reads,
)
from daicho_cli.cost.traffic import Assumptions, FigureTraffic, PageTraffic, TrafficError
from daicho_cli.cost.units import Units
from daicho_cli.cost.writes import EntityShape
from tests.unit.daicho_cli.cost.plans import CHART, OF_ARTIST, REVENUE, TITLED, VALUES, generation

PLAIN = EntityShape()
MISSING = Assumptions(cache_misses=1.0)
TALLY = "tenant-one#+Song.chart#1#2026-11#heroes"


def page(
    declared: Generation,
    name: str,
    shape: EntityShape = PLAIN,
    values: dict[str, Any] | None = None,
    related: Units | None = None,
    **described: Any,
) -> float:
    """The read units of one page."""
    units = make_reads(declared, values or VALUES, shape).estimate_page(
        name, PageTraffic(**{"count": 1, **described}), related or Units()
    )
    assert units.write == 0
    return units.read


def read(declared: Generation, values: dict[str, Any], shape: EntityShape = PLAIN) -> float:
    return make_reads(declared, values, shape).estimate_items(1).read


def make_reads(
    declared: Generation, values: dict[str, Any], shape: EntityShape = PLAIN
) -> EntityReads:
    return EntityReads(declared.plan, shape, MISSING, [(values, build_image(declared, values))])


def test_an_item_costs_a_unit_for_each_4_kb() -> None:
    assert read(generation(), VALUES) == 1
    assert read(generation(), {"title": "x" * 40_000}) == 10
    assert read(generation(versions="pointer"), {"title": "x" * 40_000}) == 10
    assert read(generation(), VALUES, EntityShape(keyed=True)) == 2


def test_a_split_item_costs_its_sections_and_its_head_twice() -> None:
    document = generation("Document", split="sections")
    text = "a section of less than a KB. " * 30
    values = {"sections": {f"section {n:04d}": text for n in range(10)}}
    assert read(document, values) == 5
    assert make_reads(document, values).estimate_sections(1) == Units(read=2)


def test_a_page_of_100_of_a_listing_costs_52_units() -> None:
    songs = generation(listings=(OF_ARTIST,))
    assert page(songs, "of_artist", items=100) == pytest.approx(52.5, abs=0.5)
    assert page(songs, "of_artist", items=0) == 0.5
    copied = generation(listings=(replace(OF_ARTIST, copies=("title",)),))
    assert page(copied, "of_artist", items=100, copied=True) == pytest.approx(2.5, abs=0.5)
    sharded = generation(listings=(replace(OF_ARTIST, shards=4),))
    assert page(sharded, "of_artist", items=20) == 4 * 0.5 + 10


def test_a_page_of_items_by_pointer_also_reads_the_versions() -> None:
    manuals = generation(listings=(OF_ARTIST,), versions="pointer")
    values = {"artist": "dan"}
    key = KeyPlan(("artist",), ("id",))
    by_key = generation(versions="pointer", key=key)
    assert page(by_key, "key", values=values, items=10) == 1 + 10
    with_listing = page(manuals, "of_artist", values=values, items=10)
    assert with_listing == 0.5 + 10 * 0.5 + 10


def test_a_search_reads_the_lists_of_its_keyword() -> None:
    songs = generation(searches=(TITLED,))
    assert page(songs, "titled", items=10) == 0.5 + 10 * 0.5
    assert page(songs, "titled", items=10, keyword="aja") == 0.5 + 10 * 0.5
    # Two words: the lists of the whole keyword and of each word.
    assert page(songs, "titled", items=10, keyword="aja peg") == 3 * 0.5 + 10 * 0.5
    related = Units(read=1.5)
    assert page(songs, "titled", related=related, items=10, keyword="aja") == 0.5 + 5 + 1.5
    assert page(songs, "titled", related=related, items=10) == 0.5 + 5
    with pytest.raises(TrafficError, match="at most 5 words"):
        page(songs, "titled", keyword="a b c d e f")


def test_a_collection_is_read_consistently() -> None:
    calls = generation("Call", key=KeyPlan(("artist",), ("id",)))
    assert page(calls, "key", items=20) == 1
    assert page(calls, "key", items=40) == 2
    orders = generation("Order", key=KeyPlan(("artist",), ("id",), shards=10))
    assert page(orders, "key", items=50) == 10
    ballot = generation("Ballot", key=KeyPlan(("artist",), ("id",), shards="shards"))
    values = {**VALUES, "shards": 4}
    keyed = EntityShape(keyed=True)
    assert page(ballot, "key", keyed, values, items=0) == 4 + 1
    # A full page reads a few rows more than it shows.
    assert page(calls, "key", values={**VALUES, "title": "x" * 900}, items=4, limit=4) == 2


def test_an_edge_is_read_from_its_other_end_in_gsi1() -> None:
    track = generation("Track", key=KeyPlan(("id",), ("artist",), edge=True))
    assert page(track, "inverse", items=30) == 1.0


def test_versions_of_an_item() -> None:
    values = {"title": "x" * 3_500}
    assert page(generation(versions="pointer"), "versions", values=values, items=20) == 19
    assert page(generation(versions="copy"), "versions", values=values, items=20) == 20


def test_a_list_that_is_not_declared_is_named() -> None:
    for declared in (generation(), generation(listings=(OF_ARTIST,))):
        with pytest.raises(TrafficError, match="Song has no list called 'versions'"):
            page(declared, "versions")


@pytest.mark.parametrize(
    ("figure", "units"),
    [
        # docs/benchmarks/counting.md, "Reading figures and ranks"
        (FigureTraffic(reads=1), 0.5),
        (FigureTraffic(live=1), 3.0),
        (FigureTraffic(ranks=1, rank=1), 1.0),
        (FigureTraffic(tops=1, top_items=10), 0.5),
        (FigureTraffic(tops=1, top_items=100), 2.0),
    ],
)
def test_figures(figure: FigureTraffic, units: float) -> None:
    assert estimate_figures(CHART, figure, TALLY, 1).read == units


def test_a_ranking_of_sums_also_reads_the_totals() -> None:
    figure = FigureTraffic(tops=1, top_items=10)
    assert estimate_figures(REVENUE, figure, TALLY, 1).read == 0.5 + 10 * 0.5
    assert estimate_figures(replace(CHART, shards=4), figure, TALLY, 1).read == 2.0


def test_a_vote_reads_the_counter_and_its_poll_unless_they_are_cached() -> None:
    figure = FigureTraffic(votes=10)
    assert estimate_vote_reads(figure, MISSING) == Units(read=15)
    assert estimate_vote_reads(figure, Assumptions(cache_misses=0)) == Units()
