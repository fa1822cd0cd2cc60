"""Units of reads, against the benchmarks of pages (docs/benchmarks/writes.md)."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.plan import Generation, KeyPlan
from daicho_cli.cost.examples import build_image
from daicho_cli.cost.reads import EntityReads
from daicho_cli.cost.traffic import Assumptions, PageTraffic, TrafficError
from daicho_cli.cost.units import Units
from daicho_cli.cost.writes import EntityShape
from tests.unit.daicho_cli.cost.plans import OF_ARTIST, TITLED, VALUES, generation

PLAIN = EntityShape()
MISSING = Assumptions(cache_misses=1.0)


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


def test_an_edge_is_read_from_its_other_end_in_gsi1() -> None:
    track = generation("Track", key=KeyPlan(("id",), ("artist",), edge=True))
    assert page(track, "inverse", items=30) == 1.0


def test_versions_of_an_item() -> None:
    values = {"title": "x" * 3_500}
    assert page(generation(versions="pointer"), "versions", values=values, items=20) == 19
    assert page(generation(versions="copy"), "versions", values=values, items=20) == 20
