"""Rebuilds, by hand and against the costs of DAY100's table of a new search."""

from __future__ import annotations

import pytest

from daicho.plan import KeyPlan
from daicho_cli.cost.examples import build_image
from daicho_cli.cost.prices import load_prices
from daicho_cli.cost.traffic import StreamTraffic
from daicho_cli.plan.rebuild import RebuildEstimate, estimate_rebuild
from tests.unit.daicho_cli.cost.plans import CHART, OF_ARTIST, TITLED, VALUES, generation

PRICES = load_prices()
SONG = generation(listings=(OF_ARTIST,), searches=(TITLED,), aggregates=(CHART,))
IMAGE = build_image(SONG, VALUES)


def test_a_new_search_costs_a_touch_and_its_postings_for_each_item() -> None:
    estimate = estimate_rebuild(SONG.plan, [("titled", 1)], [IMAGE], 1_000_000, PRICES, rate=500)
    assert estimate.touch_units == 1_000_000
    assert estimate.row_units == 8 * 1_000_000
    assert estimate.seconds == 2_000
    assert 0 < estimate.count_units <= 1_000_000  # announcements
    written = estimate.touch_units + estimate.derived_units
    dollars = (written * 0.625 + estimate.read_units * 0.125) / 1e6
    assert estimate.dollars == pytest.approx(dollars)


def test_only_the_declarations_that_are_built_are_counted() -> None:
    none = estimate_rebuild(SONG.plan, [], [IMAGE], 1_000, PRICES)
    assert (none.row_units, none.count_units) == (0, 0)
    assert none.touch_units == 1_000
    listing = estimate_rebuild(SONG.plan, [("of_artist", 1)], [IMAGE], 1_000, PRICES)
    assert listing.row_units == 2_000
    both = estimate_rebuild(SONG.plan, [("of_artist", 1), ("titled", 1)], [IMAGE], 1_000, PRICES)
    assert both.row_units == 10_000


def test_the_scans_read_items_and_rows_twice() -> None:
    bare, with_rows = generation(), SONG
    small = estimate_rebuild(bare.plan, [], [IMAGE], 1_000, PRICES)
    large = estimate_rebuild(with_rows.plan, [], [IMAGE], 1_000, PRICES)
    assert large.read_units > 4 * small.read_units > 0


def test_a_new_aggregate_costs_slots_and_totals() -> None:
    stream = StreamTraffic(shards=1, batch_records=100)
    one = estimate_rebuild(SONG.plan, [("chart", 1)], [IMAGE], 100_000, PRICES, stream=stream)
    images = [build_image(SONG, {**VALUES, "artist": f"artist-{n}"}) for n in range(50)]
    many = estimate_rebuild(SONG.plan, [("chart", 1)], images, 100_000, PRICES, stream=stream)
    # A thousand batches: each has an announcement and writes its one group.
    assert one.count_units == pytest.approx(2_000, rel=0.05)
    assert many.count_units > 20 * one.count_units
    assert one.row_units == 0


def test_an_edge_is_touched_in_its_index_too() -> None:
    track = generation("Track", key=KeyPlan(("id",), ("artist",), edge=True))
    image = build_image(track, VALUES)
    assert estimate_rebuild(track.plan, [], [image], 10, PRICES).touch_units == 20


@pytest.mark.parametrize(("images", "count"), [([], 10), ([IMAGE], 0)])
def test_nothing_costs_nothing(images: list[object], count: int) -> None:
    estimate = estimate_rebuild(SONG.plan, [("titled", 1)], images, count, PRICES)  # type: ignore[arg-type]
    assert estimate == RebuildEstimate(0, 0, 0, 0, 0, 0)
