"""Grams: the forms of values, their postings, and the lists that a keyword is looked up in."""

from __future__ import annotations

import random

import pytest

from daicho.plan import TextRules
from daicho.search.grams import (
    DIGIT_STEPS,
    INSIDE_DIGIT_STEPS,
    INSIDE_STEPS,
    INSIDE_STEPS_WITH_DIGITS,
    KANA_STEPS,
    STEPS,
    GramSteps,
    Keyword,
    Probe,
    compute_forms,
)
from daicho.search.normalise import compute_readings

PREFIX = GramSteps("prefix", STEPS, DIGIT_STEPS, KANA_STEPS)
INSIDE = GramSteps("contains", INSIDE_STEPS_WITH_DIGITS, INSIDE_DIGIT_STEPS)


def test_a_form_for_each_word_without_spaces() -> None:
    assert compute_forms("led zeppelin iv", "prefix") == ["ledzeppeliniv", "zeppeliniv", "iv"]
    assert len(compute_forms("x" * 200, "prefix")[0]) == 64


def test_what_contains_the_keyword_has_a_form_for_each_code_point() -> None:
    assert compute_forms("ab cd", "contains") == ["abcd", "bcd", "cd", "d"]


def test_behind_a_gram_stands_what_a_keyword_may_go_on_with_before_the_next_one() -> None:
    assert PREFIX.compute_postings(["ajabaxyz ba"]) == {
        ("", ""),
        ("a", ""),
        ("aj", ""),
        ("aja", "b"),
        ("ajaba", "xy"),
        ("ajabaxyz", "ba"),
        ("b", ""),
        ("ba", ""),
    }


def test_inside_values_the_whole_value_stands_behind_the_longest_grams() -> None:
    assert GramSteps("contains", INSIDE_STEPS).compute_postings(["ab c"]) == {
        ("", ""), ("a", ""), ("ab", "abc"), ("b", ""), ("bc", "abc"), ("c", ""),
    }  # fmt: skip
    assert GramSteps("contains", (1,)).compute_postings(["ab", "xaby"]) == {
        ("", ""), ("a", "xaby"), ("b", "xaby"), ("x", "xaby"), ("y", "xaby"),
    }  # fmt: skip


def test_a_long_value_stands_there_as_far_as_keywords_reach() -> None:
    value = "".join(chr(0x4E00 + place) for place in range(200))
    for gram, behind in INSIDE.compute_postings([value]):
        if len(gram) == 3:
            place = value.index(gram)
            assert behind == value[max(0, place - 63) : place + 64]


def test_a_form_that_another_starts_with_needs_no_postings() -> None:
    assert PREFIX.compute_postings(["abcdef", "ab"]) == PREFIX.compute_postings(["abcdef"])


def test_digits_and_kana_have_more_steps() -> None:
    assert {gram for gram, *_ in PREFIX.compute_postings(["09012345678"])} == {
        "", "09", "090", "0901", "09012", "090123", "09012345",
    }  # fmt: skip
    assert ("クリエ", "") in PREFIX.compute_postings(["クリエイト"])
    assert ("クリエイトス", "テ") in PREFIX.compute_postings(["クリエイトステム"])
    assert ("0123", "01234") in INSIDE.compute_postings(["01234"])
    assert ("012", "") in INSIDE.compute_postings(["01234"])


def test_the_list_of_all_phone_numbers_is_spread_over_their_second_digits() -> None:
    found = PREFIX.compute_probes("0")
    assert len(found) == 11
    assert (Probe("0"),) in found
    assert (Probe("07"),) in found
    assert ("0", "") in PREFIX.compute_postings(["0"])
    assert ("0", "") in PREFIX.compute_postings(["0x"])
    assert GramSteps("prefix", (1, 3)).compute_probes("0") == [(Probe("0"),)]


def test_what_hardly_goes_on_otherwise_comes_through_the_shorter_gram() -> None:
    found = PREFIX.compute_postings(["株式会社 東京商事"])
    assert ("株", "式会社") in found
    assert not any(gram in ("株式", "株式会") for gram, *_ in found)
    assert PREFIX.compute_probes("株式会社") == [(Probe("株", "式会社"),)]
    assert PREFIX.compute_probes("有限会") == [(Probe("有", "限会"),)]
    assert INSIDE.compute_probes("式会") == [(Probe("式", "式会", inside=True),)]
    assert ("式", "株式会社東") in INSIDE.compute_postings(["株式会社 東"])


def test_what_follows_a_designator_bears_its_mark() -> None:
    found = PREFIX.compute_postings(compute_readings("株式会社東京商事", TextRules("company")))
    assert {("東", "", "株"), ("東京", "", "株"), ("東京商", "事", "株")} < found
    assert PREFIX.compute_probes("株式会社東京商") == [
        (Probe("株式会社東", "京商"), Probe("東京商", "", "株"))
    ]
    assert PREFIX.compute_probes("株式会社東") == [(Probe("株式会社東"),)]
    # As part of a word of its own it is found too: only the item tells what it is.
    assert ("東京", "", "株") in PREFIX.compute_postings(
        compute_readings("株式会社東京商事", TextRules("text"))
    )


def test_inside_values_some_of_all_grams_are_asked_the_distinctive_ones() -> None:
    (found,) = INSIDE.compute_probes("株式会社東京商事")
    assert [probe.gram for probe in found] == ["会社東", "社東京", "東京商", "京商事"]
    assert all(probe.inside and probe.rest == "株式会社東京商事" for probe in found)
    assert len(INSIDE.compute_probes("東京産業銀行渡辺商事")[0]) == 4
    assert [probe.gram for probe in INSIDE.compute_probes("09012345678")[0]] == ["0901", "5678"]
    assert [probe.gram for probe in INSIDE.compute_probes("123a")[0]] == ["23a"]
    assert INSIDE.compute_probes("123") == [(Probe("123"),)]


@pytest.mark.parametrize(
    "steps", [PREFIX, INSIDE, GramSteps("prefix", (1, 3)), GramSteps("contains", (1,))]
)
def test_every_list_of_a_keyword_holds_what_begins_with_it(steps: GramSteps) -> None:
    """Of all alternatives each, and nothing else but by the words inside a text."""
    draw = random.Random(7)
    parts = (
        "株式会社",
        "株式",
        "有限会社",
        "合同会",
        "東京",
        "クリエイト",
        "0",
        "090",
        "12",
        "ab",
        "東",
    )
    found = 0
    for _ in range(3_000):
        reading = "".join(draw.choices(parts, k=draw.randint(1, 5)))
        text = reading if steps.mode == "contains" else compute_forms(reading, "prefix")[0]
        start = draw.randrange(len(text)) if steps.mode == "contains" else 0
        keyword = text[start : start + draw.randint(1, len(text) - start)]
        postings = {
            (gram, rest, *(mark or [""])) for gram, rest, *mark in steps.compute_postings([reading])
        }
        probes = steps.compute_probes(keyword)
        rows = [
            [
                any(
                    gram == probe.gram
                    and (probe.rest in rest if probe.inside else rest.startswith(probe.rest))
                    and probe.mark in ("", mark)
                    for gram, rest, mark in postings
                )
                for probe in alternatives
            ]
            for alternatives in probes
        ]
        assert any(all(each) for each in rows), (reading, keyword, probes)
        found += len(probes[0]) > 1
    assert found or steps.others in ((1, 3), (1,))


def test_probes_take_the_longest_gram_and_leave_the_rest() -> None:
    assert PREFIX.compute_probes("zeppelini") == [(Probe("zeppelin", "i"),)]
    assert PREFIX.compute_probes("zepp") == [(Probe("zep", "p"),)]
    whole, *words = Keyword.parse("led zep").terms
    assert whole.compute_probes(PREFIX) == [(Probe("ledze", "p"),)]
    assert [word.compute_probes(PREFIX) for word in words] == [[(Probe("led"),)], [(Probe("zep"),)]]
    assert Keyword.parse("\u3000").terms == ()
