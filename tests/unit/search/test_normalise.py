"""The normal form of searched texts, and where their words begin."""

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.plan import FIRST_FOLD, NEWEST_FOLD
from daicho.search.letters import LETTERS
from daicho.search.normalise import fold, has_words, split_words
from daicho.search.unicode14 import is_assigned


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Ｌｅｄ　Ｚｅｐｐｅｌｉｎ", "led zeppelin"),
        ("Zéppelin", "zeppelin"),
        ("ﾊﾝｶｸ がぎ ひらがな", "ハンカク ガギ ヒラガナ"),
        ("か\u3099", "ガ"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("  a \t b\n", "a b"),
        ("ΆΛΦΑ й", "αλφα и"),
        ("", ""),
        (
            "Łódź Ørsted Đà Ħal Ðór Þór Ægir Œuvre ŋ ŧ",
            "lodz orsted da hal dor thor aegir oeuvre n t",
        ),
        ("DİYARBAKIR ısı Diyarbakır", "diyarbakir isi diyarbakir"),
        ("O’Brien O`Brien O´Brien Oʼbrien ʻokina", "o'brien o'brien o'brien o'brien 'okina"),
        ("a‐b a‑b a–b a—b a−b a﹣b a－b", "a-b a-b a-b a-b a-b a-b a-b"),
        (
            "zero\u00adbreak a\u200bb a\u2060b \ufeffa a\x00b 葛\U000e0100",
            "zerobreak ab ab a ab 葛",
        ),
        ("שָׁלוֹם", "שלום"),
        ("مُحَمَّد محمـــد", "محمد محمد"),
        ("أحمد إسلام آمنة مؤمن رئيس ٱلله", "احمد اسلام امنه مومن رييس الله"),
        ("علی على کتاب كتاب", "علي علي كتاب كتاب"),
        ("٠٣١٢٣٤٥ ۱۲ १२ １２ ๑", "0312345 12 12 12 1"),
    ],
)
def test_fold(text: str, normal: str) -> None:
    assert fold(text) == normal
    assert fold(normal) == normal


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Łódź", "łodz"),
        ("O’Brien", "o’brien"),
        ("a\u00adb", "a\u00adb"),
        ("٠", "٠"),
        ("É ガ", "e ガ"),
    ],
)
def test_the_first_fold_stays_for_what_was_written_by_it(text: str, normal: str) -> None:
    assert fold(text, FIRST_FOLD) == normal


def test_what_unicode_14_does_not_assign_passes_unchanged() -> None:
    assert fold("A\U0001fae8B") == "a\U0001fae8b"


CODE_POINTS = [
    code
    for code in (*range(0xD800), *range(0xF900, 0xF0000))
    if is_assigned(chr(code)) or code % 64 == 0
]
"""All that Unicode 14 assigns but for private use, and some that it does not assign."""


@pytest.mark.parametrize(
    ("version", "expected"), [(FIRST_FOLD, "a9f7cc673824d2bc"), (NEWEST_FOLD, "d124c42379614b9e")]
)
def test_every_python_folds_every_code_point_alike(version: int, expected: str) -> None:
    # The digests are those of Python 3.11, 3.12 and 3.13; others would
    # change what images derive.
    digest = hashlib.sha256()
    for code in CODE_POINTS:
        folded = fold(f"a{chr(code)}か", version)
        text = folded if version == FIRST_FOLD else split_words(folded)
        digest.update(text.encode() + b"\0")
    assert digest.hexdigest().startswith(expected)


def test_what_is_read_as_another_letter_is_a_letter_that_unicode_14_has() -> None:
    assert len(LETTERS) > 240
    assert all(unicodedata.category(each)[0] == "L" and is_assigned(each) for each in LETTERS)
    assert {each for each in LETTERS if fold(each) in ("", each)} == set()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(TEXTS)
def test_a_folded_text_is_folded_already(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(TEXTS.filter(lambda text: all(map(is_assigned, text))), st.characters(categories=["Cf"]))
def test_format_characters_change_nothing(text: str, hidden: str) -> None:
    if is_assigned(hidden):
        assert fold(hidden.join(f"a{text}b")) == fold(f"a{text}b")


@given(st.characters(categories=["Pd"]), st.characters(categories=["Nd"]))
def test_dashes_and_digits_of_all_scripts_are_alike(dash: str, digit: str) -> None:
    if is_assigned(dash):
        assert fold(f"jean{dash}luc") == "jean-luc"
    if is_assigned(digit):
        assert fold(f"x{digit}") == f"x{unicodedata.decimal(digit)}"


@pytest.mark.parametrize(
    ("folded", "words"),
    [
        ("jean-luc picard", "jean luc picard"),
        ("ac/dc", "ac dc"),
        ("o'brien", "o brien"),
        ("u.s.a.", "u s a"),
        ("c++ c# at&t", "c++ c# at& t"),
        ("#1 @home 50%", "# 1 @ home 50%"),
        ("ジョン・スミス、東京", "ジョン スミス 東京"),
        ("हिन्दी", "हिन्दी"),
        ("...", "..."),
        ("- -", "- -"),
        ("", ""),
    ],
)
def test_words_end_at_punctuation_and_begin_after_symbols(folded: str, words: str) -> None:
    assert split_words(folded) == words


@given(TEXTS.map(fold))
def test_no_letter_is_lost_between_words(folded: str) -> None:
    words = split_words(folded)
    assert words == folded or has_words(folded)
    kept = [each for each in folded if unicodedata.category(each)[0] in "LMNS"]
    assert [each for each in words if unicodedata.category(each)[0] in "LMNS"] == kept
