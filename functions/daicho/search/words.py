"""Where the words of a folded text begin: `docs/reference/text-folding.md` has the rules."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal

from daicho.search.unicode14 import is_assigned

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
