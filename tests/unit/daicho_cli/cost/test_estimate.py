"""The estimate of a whole ledger."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.plan import SearchPlan, ThroughPlan
from daicho_cli.cost.estimate import STACK, Estimate, Work, estimate_units
from daicho_cli.cost.traffic import Traffic, TrafficError, parse_traffic
from daicho_cli.cost.units import Units, sum_units
from tests.unit.daicho_cli.cost.plans import COUNT, OF_ARTIST, VALUES, generation, ledger

SONG = generation(listings=(OF_ARTIST,), aggregates=(COUNT,))


def select(estimate: Estimate, entity: str, work: Work) -> Units:
    lines = [line for line in estimate.lines if (line.entity, line.work) == (entity, work)]
    return sum_units(line.units for line in lines)


def total(estimate: Estimate) -> Units:
    return sum_units(line.units for line in estimate.lines)


def traffic(**song: Any) -> Traffic:
    """A run of one hour, of songs; one batch, one rollup."""
    entities = {"Song": {"examples": [VALUES], **song}}
    stream = {"shards": 1, "batch_records": 1_000, "rollups": 1}
    return parse_traffic({"days": 0.04, "stream": stream, "entities": entities})


def test_the_lines_of_an_entity_by_hand() -> None:
    described = traffic(creates=100, reads=50, pages={"of_artist": {"count": 10, "items": 4}})
    estimate = estimate_units(ledger(SONG), described)
    assert select(estimate, "Song", "items") == Units(write=100)
    assert select(estimate, "Song", "rows") == Units(write=200)
    # 100 records in a tenth of a batch: the announcement and the slot are a tenth of a unit.
    assert select(estimate, STACK, "announcements").write == pytest.approx(0.1)
    assert select(estimate, "Song", "slots").write == pytest.approx(0.1 + 1)
    assert select(estimate, "Song", "rollups") == Units(read=2, write=1 + 2)
    assert select(estimate, "Song", "reads") == Units(read=50 + 10 * (0.5 + 4 * 0.5))
    assert select(estimate, STACK, "rollups") == Units(read=9)
    assert estimate.requests == 100 + 50 + 10
    assert (estimate.load.records, estimate.load.batches) == (100, 0.1)
    times = select(estimate, STACK, "times")
    assert times.read == pytest.approx(1 + 1 + 0.5 + 1 + estimate.listings)
    assert total(estimate).write == pytest.approx(100 + 200 + 0.1 + 1.1 + 3 + times.write)


def test_transactions_count_for_each_of_their_entities() -> None:
    data = {
        "days": 0.04,
        "transactions": [
            {
                "name": "t",
                "count": 10,
                "creates": {"Song": 1},
                "deletes": {"Cart": 3},
                "idempotent": 1,
            }
        ],
    }
    estimate = estimate_units(ledger(SONG, generation("Cart")), parse_traffic(data))
    assert select(estimate, "Cart", "items") == Units(read=30, write=60)
    # Its record is counted once, with the first entity that is created.
    assert select(estimate, "Song", "items") == Units(read=10 + 10, write=20 + 20)
    assert estimate.requests == 10


def test_a_search_reaches_the_names_of_other_items() -> None:
    through = ThroughPlan("artist", "Artist", "title", "text", "of_artist")
    search = SearchPlan("search", 1, ("title",), (1, 2, 3), through=(through,))
    song = generation(searches=(search,), listings=(OF_ARTIST,))
    data = {
        "assumptions": {"cache_misses": 1},
        "entities": {
            "Song": {
                "examples": [VALUES],
                "pages": {"search": {"count": 1, "items": 0, "keyword": "aja"}},
            },
            "Artist": {"items": 100, "examples": [VALUES]},
        },
    }
    estimate = estimate_units(ledger(song, generation("Artist")), parse_traffic(data))
    # 100 artists of some 150 bytes are 15 KB, read without consistency.
    assert select(estimate, "Song", "reads").read == 0.5 + 2.0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"entities": {"Sung": {}}}, "entities: no entity is called Sung"),
        ({"entities": {"Song": {"figures": {"chart": {}}}}}, "Song has no figure 'chart'"),
        ({"entities": {"Song": {"pages": {"named": {"count": 1}}}}}, "Song has no list called"),
        (
            {"transactions": [{"name": "t", "count": 1, "creates": {"Sung": 1}}]},
            "transactions t: no entity is called Sung",
        ),
    ],
)
def test_names_that_are_not_declared_are_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(TrafficError, match=message):
        estimate_units(ledger(SONG), parse_traffic(data))
