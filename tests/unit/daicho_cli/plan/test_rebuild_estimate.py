"""Rebuilds, by hand and against the costs of DAY100's table of a new search."""

from __future__ import annotations

import pytest

from daicho_cli.cost.examples import build_image
from daicho_cli.cost.prices import load_prices
from daicho_cli.plan.rebuild import RebuildEstimate, estimate_rebuild
from tests.unit.daicho_cli.cost.plans import CHART, OF_ARTIST, TITLED, VALUES, generation

PRICES = load_prices()
SONG = generation(listings=(OF_ARTIST,), searches=(TITLED,), aggregates=(CHART,))
IMAGE = build_image(SONG, VALUES)


@pytest.mark.parametrize(("images", "count"), [([], 10), ([IMAGE], 0)])
def test_nothing_costs_nothing(images: list[object], count: int) -> None:
    estimate = estimate_rebuild(SONG.plan, [("titled", 1)], images, count, PRICES)  # type: ignore[arg-type]
    assert estimate == RebuildEstimate(0, 0, 0, 0, 0, 0)
