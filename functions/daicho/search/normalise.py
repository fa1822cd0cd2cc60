"""One normal form for stored values and keywords."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from daicho.search.unicode14 import is_assigned

FIELD_CODE_POINTS = 256
"""Longest value that a search may read, in code points."""

_BASES_THAT_LOSE_MARKS = ("LATIN", "GREEK", "CYRILLIC")
_KATAKANA_FROM_HIRAGANA = {code: code + 0x60 for code in (*range(0x3041, 0x3097), 0x309D, 0x309E)}


def fold(text: str) -> str:
    """The normal form: NFKC, case folded, marks dropped, hiragana as katakana, single spaces.

    Marks are dropped after Latin, Greek and Cyrillic bases only: Japanese marks change the letter.
    Code points that Unicode 14 does not assign pass through unchanged, so that every Python from
    3.11 on derives the same (EXACTNESS rule 2).
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(_convert_assigned(text, _fold_known).split())


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


def _fold_known(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = unicodedata.normalize("NFC", _drop_marks(unicodedata.normalize("NFD", folded)))
    return unicodedata.normalize("NFKC", plain.translate(_KATAKANA_FROM_HIRAGANA))


def _drop_marks(decomposed: str) -> str:
    kept: list[str] = []
    base_loses_marks = False
    for character in decomposed:
        if unicodedata.combining(character):
            if base_loses_marks:
                continue
        else:
            name = unicodedata.name(character, "")
            base_loses_marks = name.startswith(_BASES_THAT_LOSE_MARKS)
        kept.append(character)
    return "".join(kept)
