import pytest

from daicho.search.grams import STEPS, Keyword, KeywordError, Probe, forms, postings


def test_a_form_for_each_word_without_spaces() -> None:
    assert forms("Led Zeppelin IV") == ["ledzeppeliniv", "zeppeliniv", "iv"]
    assert len(forms("x" * 200)[0]) == 64


def test_the_rest_stands_behind_grams_that_longer_keywords_come_through() -> None:
    assert postings(["Aja Ba"], STEPS) == {
        ("", ""),
        ("a", ""),
        ("aj", ""),
        ("aja", "ba"),
        ("ajaba", ""),
        ("b", ""),
        ("ba", ""),
    }


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
    assert Keyword.parse(keyword).matches(["Led Zeppelin"]) is matches


def test_probes_take_the_longest_gram_and_leave_the_rest() -> None:
    assert Probe.of("zeppelin i", STEPS) == Probe("zeppelin", " i")
    assert Probe.of("zepp", STEPS) == Probe("zep", "p")
    assert Keyword.parse("led zep").probes(STEPS) == [Probe("ledze", "p"), Probe("led", "")]
    assert Keyword.parse("\u3000").probes(STEPS) == []


def test_every_match_is_found_through_a_probe() -> None:
    values = ["Led Zeppelin", "Deep Purple in Rock"]
    rows = postings(values, STEPS)
    for text in ("l", "zepp", "deeppurp", "purple i", "rock", "in rock", "deep rock"):
        keyword = Keyword.parse(text)
        assert keyword.matches(values)
        assert any(
            (gram, rest) for probe in keyword.probes(STEPS) for gram, rest in rows
            if gram == probe.gram and rest.startswith(probe.rest)
        )  # fmt: skip


@pytest.mark.parametrize("keyword", ["x" * 65, "a b c d e f", "\ud800"])
def test_keywords_that_are_refused(keyword: str) -> None:
    with pytest.raises(KeywordError):
        Keyword.parse(keyword)
