"""What people type finds what is stored: what is drawn is of the classes of Unicode."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from daicho.plan import TextRules
from daicho.search.grams import Keyword, Mode, compute_forms
from daicho.search.normalise import compute_readings, fold
from daicho.search.unicode14 import is_assigned

TEXT = TextRules("text")
MODES: tuple[Mode, ...] = ("prefix", "contains")
WORDS = st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=1, max_size=6)
# NFKC makes several characters of some symbols: two of them may be letters.
SEPARATORS = st.characters(categories=["Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Zs"])
SYMBOLS = st.characters(categories=["Sm", "Sc", "Sk", "So"])
# Case folding makes a letter of the Greek iota below.
MARKED = st.sampled_from([chr(code) for code in range(0x300, 0x370) if code != 0x345])


def finds(typed: str, value: str) -> bool:
    keyword = Keyword.parse(typed, [TEXT])
    found = [
        keyword.matches([form for text in compute_readings(value, TEXT) for form in forms])
        for mode in MODES
        for forms in [
            [f for text in compute_readings(value, TEXT) for f in compute_forms(text, mode)]
        ]
    ]
    return all(found)


def is_plain(text: str) -> bool:
    """Whether a text is words as they are drawn, and NFKC makes no other characters of them."""
    return all(map(is_assigned, text)) and fold(text).isalnum()


@given(WORDS.filter(is_plain), WORDS.filter(is_plain), SEPARATORS)
def test_each_word_the_whole_and_the_joined_words_are_found(
    first: str, second: str, separator: str
) -> None:
    value = f"{first}{separator}{second}"
    for typed in (first, second, value, f"{first} {second}", f"{second} {first}"):
        assert finds(typed, value), typed
    if fold(separator).strip() and unicodedata.category(fold(separator)[0])[0] == "P":
        assert finds(f"{first}{second}", value) or fold(separator) in "#%&*@"


@given(WORDS.filter(is_plain), WORDS.filter(is_plain), SYMBOLS)
def test_symbols_end_words_and_are_found_with_them(first: str, second: str, symbol: str) -> None:
    value = f"{first}{symbol}{second}"
    assert finds(value, value)
    assert finds(first, value)
    # Not a letter in a circle, nor a musical note, whose stem is a mark.
    if {unicodedata.category(character)[0] for character in fold(symbol)} == {"S"}:
        assert finds(second, value)


@given(WORDS.filter(is_plain), st.characters(categories=["Cf"]).filter(is_assigned))
def test_what_nobody_sees_is_neither_needed_nor_in_the_way(word: str, hidden: str) -> None:
    assert finds(word, hidden.join(word))
    assert finds(hidden.join(word), word)


@given(st.text(st.characters(categories=["Lu", "Ll"]), min_size=1, max_size=8), MARKED)
def test_latin_letters_are_found_without_their_marks(word: str, mark: str) -> None:
    letters = (each for each in word if unicodedata.name(each, "").startswith("LATIN"))
    latin = [each for each in letters if is_plain(each)]  # not l with a middle dot
    value = "".join(f"{each}{mark}" for each in latin)
    if value and all(map(is_assigned, value)):
        assert finds("".join(latin), value)
        assert finds("".join(latin).upper(), value)


@given(st.text(st.characters(categories=["Nd"]).filter(is_assigned), min_size=3, max_size=9))
def test_digits_of_all_scripts_find_each_other(digits: str) -> None:
    plain = "".join(str(unicodedata.decimal(digit)) for digit in digits)
    assert finds(plain, digits)
    assert finds(digits, plain)
    assert compute_readings(digits, TextRules("phone")) == compute_readings(
        plain, TextRules("phone")
    )
