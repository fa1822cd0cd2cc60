"""Keywords: what they match, and which are refused."""

from __future__ import annotations

import pytest

from daicho.search.grams import Keyword, KeywordError, compute_forms


@pytest.mark.parametrize(
    ("keyword", "matches"),
    [
        ("led", True),
        ("zep", True),
        ("LED ZEP", True),
        ("zep led", True),
        ("ledzeppelin", True),
        ("eppelin", False),
        ("led purple", False),
        ("", True),
        (" \u0301", False),
    ],
)
def test_matches(keyword: str, matches: bool) -> None:
    assert Keyword.parse(keyword).matches(compute_forms("led zeppelin", "prefix")) is matches


@pytest.mark.parametrize("keyword", ["x" * 65, "a b c d e f", "\ud800", " " * 300])
def test_keywords_that_are_refused(keyword: str) -> None:
    with pytest.raises(KeywordError) as refused:
        Keyword.parse(keyword)
    assert refused.value.malformed is (keyword == "\ud800")
