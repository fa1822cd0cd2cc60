import pytest

from daicho.search.grams import INSIDE_STEPS, STEPS, Probe, forms, postings
from daicho.search.keyword import Keyword, KeywordError


def test_a_form_for_each_word_without_spaces() -> None:
    assert forms("led zeppelin iv", "prefix") == ["ledzeppeliniv", "zeppeliniv", "iv"]
    assert len(forms("x" * 200, "prefix")[0]) == 64


def test_what_contains_the_keyword_has_a_form_for_each_code_point() -> None:
    assert forms("ab cd", "contains") == ["abcd", "bcd", "cd", "d"]


def test_the_rest_stands_behind_grams_that_longer_keywords_come_through() -> None:
    assert postings(["ajaba", "ba"], STEPS) == {
        ("", ""),
        ("a", ""),
        ("aj", ""),
        ("aja", "ba"),
        ("ajaba", ""),
        ("b", ""),
        ("ba", ""),
    }
    assert postings(["abc", "bc", "c"], INSIDE_STEPS) == {
        ("", ""), ("a", ""), ("ab", "c"), ("b", ""), ("bc", ""), ("c", ""),
    }  # fmt: skip


def test_a_form_that_another_starts_with_needs_no_postings() -> None:
    assert postings(["abcdef", "ab"], STEPS) == postings(["abcdef"], STEPS)


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
    assert Keyword.parse(keyword).matches(forms("led zeppelin", "prefix")) is matches


def test_probes_take_the_longest_gram_and_leave_the_rest() -> None:
    assert Probe.of("zeppelin i", STEPS) == Probe("zeppelin", " i")
    assert Probe.of("zepp", STEPS) == Probe("zep", "p")
    assert Probe.of("zepp", INSIDE_STEPS) == Probe("ze", "pp")
    whole, *words = Keyword.parse("led zep").terms
    assert whole.probes(STEPS) == [Probe("ledze", "p")]
    assert [word.probes(STEPS) for word in words] == [[Probe("led", "")], [Probe("zep", "")]]
    assert Keyword.parse("\u3000").terms == ()


@pytest.mark.parametrize("keyword", ["x" * 65, "a b c d e f", "\ud800", " " * 300])
def test_keywords_that_are_refused(keyword: str) -> None:
    with pytest.raises(KeywordError) as refused:
        Keyword.parse(keyword)
    assert refused.value.malformed is (keyword == "\ud800")
