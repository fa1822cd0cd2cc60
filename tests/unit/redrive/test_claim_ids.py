"""Ids of claims: as text of commands, and as one segment of a URL."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.redrive.claim_ids import parse_claim, parse_claim_id, render_claim, render_claim_id

PARTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1)


@given(PARTS, PARTS)
def test_an_id_survives_a_round_trip_and_is_one_segment_of_a_url(shard: str, seq: str) -> None:
    id = render_claim_id((shard, seq))
    assert re.fullmatch(r"[\w-]+", id, re.ASCII)
    assert parse_claim_id(id) == (shard, seq)
    assert parse_claim(render_claim((shard, seq))) == (shard, seq)


@pytest.mark.parametrize(
    "text", ["", "a", "a/", "/a", "YQ", "YS8", "YS9i=", "YS9i\n", "💥", "YS9j9"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        parse_claim_id(text)
