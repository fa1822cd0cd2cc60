"""One normal form for stored values and keywords: see `docs/reference/text-folding.md`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

from daicho.plan.text_rules import FIRST_FOLD, NEWEST_FOLD
from daicho.search.letters import APOSTROPHES, DASHES, FILLERS, LETTERS
from daicho.search.unicode14 import is_assigned

FIELD_CODE_POINTS = 256
"""Longest value that a search may read, in code points."""

_FIRST_BASES = ("LATIN", "GREEK", "CYRILLIC")
_BASES_THAT_LOSE_MARKS = (*_FIRST_BASES, "HEBREW", "ARABIC")
_KATAKANA_FROM_HIRAGANA: Mapping[int, str] = {
    code: chr(code + 0x60) for code in (*range(0x3041, 0x3097), 0x309D, 0x309E)
}


def fold(text: str, version: int = NEWEST_FOLD) -> str:
    """The normal form of a text, with single spaces, by a version of the fold.

    Marks are dropped after some scripts only: Japanese marks change the letter. Code points that
    Unicode 14 does not assign pass through unchanged, so that every Python from 3.11 on derives the
    same (EXACTNESS rule 2).
    """
    if text.isascii() and (version == FIRST_FOLD or (text.isprintable() and "`" not in text)):
        return " ".join(text.lower().split())
    convert = _fold_first if version == FIRST_FOLD else _fold_newest
    return " ".join(_convert_assigned(text, convert).split())


def fold_case(text: str) -> str:
    """The text without its case, in composed form (NFC). Everything else in it is kept.

    Code points that Unicode 14 does not assign pass through unchanged, as in `fold`.
    """
    if text.isascii():
        return text.lower()
    return _convert_assigned(text, _fold_case_known)


def _convert_assigned(text: str, convert: Callable[[str], str]) -> str:
    """Convert the runs of code points that Unicode 14 assigns; keep the others."""
    runs: list[str] = []
    run: list[str] = []
    for character in text:
        if is_assigned(character):
            run.append(character)
        else:
            runs += [convert("".join(run)), character]
            run = []
    return "".join((*runs, convert("".join(run))))


def _fold_case_known(text: str) -> str:
    # Folding may decompose, and composed capitals may fold to another form: see UAX 15 and 31.
    folded = unicodedata.normalize("NFD", text).casefold()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", folded).casefold())


def _fold_first(text: str) -> str:
    plain = _fold_marks(text, _loses_first_marks)
    return unicodedata.normalize("NFKC", plain.translate(_KATAKANA_FROM_HIRAGANA))


def _fold_newest(text: str) -> str:
    # Before: NFKC would take an apostrophe such as U+00B4 for a space with a mark. After: small
    # letters have their equals.
    plain = _fold_marks(text.translate(_EQUALS), _loses_marks)
    return unicodedata.normalize("NFKC", plain.translate(_EQUALS))


def _fold_marks(text: str, loses_marks: Callable[[str], bool]) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = _drop_marks(unicodedata.normalize("NFD", folded), loses_marks)
    return unicodedata.normalize("NFC", plain)


def _drop_marks(decomposed: str, loses_marks: Callable[[str], bool]) -> str:
    kept: list[str] = []
    base_loses_marks = False
    for character in decomposed:
        if unicodedata.combining(character):
            if base_loses_marks:
                continue
        else:
            base_loses_marks = loses_marks(character)
        kept.append(character)
    return "".join(kept)


@lru_cache(maxsize=4096)
def _loses_first_marks(base: str) -> bool:
    return unicodedata.name(base, "").startswith(_FIRST_BASES)


@lru_cache(maxsize=4096)
def _loses_marks(base: str) -> bool:
    if base.isspace() or unicodedata.category(base)[0] in "PZ":
        return True  # a mark of nothing, such as NFKC makes of a spacing accent
    return unicodedata.name(base, "").startswith(_BASES_THAT_LOSE_MARKS)


class _Equals(dict[int, "str | None"]):
    """What takes the place of each code point that Unicode 14 assigns; None if nothing does.

    It is computed on use, because the whole table would take time at the start of a function.
    """

    def __missing__(self, code: int) -> str | None:
        equal = self[code] = _find_equal(chr(code))
        return equal


_EQUALS = _Equals()


def _find_equal(character: str) -> str | None:
    category = unicodedata.category(character)
    if character in APOSTROPHES:
        return "'"
    if category == "Pd" or character in DASHES:
        return "-"
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Cf" or character in FILLERS or _is_hidden_control(character, category):
        return None
    letter = LETTERS.get(character)
    return letter or _KATAKANA_FROM_HIRAGANA.get(ord(character), character)


def _is_hidden_control(character: str, category: str) -> bool:
    return category == "Cc" and not character.isspace()


SYMBOLS = frozenset("#%&*@")
"""Punctuation that is part of what people type: C#, AT&T."""


def split_words(folded: str) -> str:
    """A folded text with a space between its words, and without the punctuation that ends them.

    A word also begins after a symbol, which stays at the end of the word before it: ``at&t`` is
    ``at& t``. A text that has nothing but punctuation is kept, so that it is found.
    """
    if folded.replace(" ", "").isalnum():  # most texts are words with single spaces
        return folded
    words, word, is_after_symbol = list[str](), "", False
    for character in folded:
        part = _classify(character)
        if part == "end" or (is_after_symbol and part == "letter"):
            words.append(word)
            word = ""
        if part != "end":
            word += character
        is_after_symbol = part == "symbol"
    words.append(word)
    return " ".join(filter(None, words)) or folded


def has_words(folded: str) -> bool:
    """Whether a folded text has more than the punctuation that ends words."""
    return any(_classify(character) != "end" for character in folded)


@lru_cache(maxsize=4096)
def _classify(character: str) -> Literal["end", "symbol", "letter"]:
    if not is_assigned(character):  # a later Unicode may make anything of it
        return "letter"
    category = unicodedata.category(character)[0]
    if character in SYMBOLS or category == "S":
        return "symbol"
    return "end" if category in "PZ" or character.isspace() else "letter"
