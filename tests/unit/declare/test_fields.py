"""Fields as they are declared: generated ids, and references."""

from __future__ import annotations

from daicho import ref
from tests.support.sample_declarations import Artist, refused


def test_ids_sort_by_the_time_they_were_made() -> None:
    earlier = "01jd000000aaaaaaaaaaaaaaaa"
    assert Artist(name="x").id > earlier


def test_a_reference_takes_an_entity() -> None:
    with refused("ref\\(\\) takes an entity, not 'Artist'"):
        ref("Artist")  # type: ignore[arg-type]
