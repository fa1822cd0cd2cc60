"""Grams: which posting lists a value stands in, and which list a keyword reads.

A value has *forms*: the text from the start of each word to the end (``led zeppelin`` has
``ledzeppelin`` and ``zeppelin``), or, for a search that finds what contains the keyword, from each
code point; always without spaces. Its grams are the forms' prefixes at certain lengths, the
*steps*. A keyword between two steps comes through the lower one, so the rest of the form stands
behind the gram in the posting's sort key: what a longer keyword excludes is excluded on index rows,
without reading an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

STEPS = (1, 2, 3, 5, 8)
"""Lengths of grams in a search by the beginning of words."""

INSIDE_STEPS = (1, 2)
"""Lengths in a search that finds what contains the keyword..."""

INSIDE_STEPS_WITH_DIGITS = (1, 2, 3)
"""...and where digits are searched: a hundred lists of two digits would all be long."""

FORM_CODE_POINTS = 64
EVERYTHING = ""
"""The gram that every item of a search has: listing all is searching for nothing."""

HOT_GRAM = 1
"""Grams of this length and shorter are spread over a search's shards."""

Mode = Literal["prefix", "contains"]


def forms(reading: str, mode: Mode) -> list[str]:
    """The forms of a reading (folded, with single spaces), each cut at 64 code points."""
    words = reading.split()
    whole = "".join(words)
    if mode == "contains":
        return [whole[start : start + FORM_CODE_POINTS] for start in range(len(whole))]
    found, start = [], 0
    for word in words:
        found.append(whole[start : start + FORM_CODE_POINTS])
        start += len(word)
    return found


def postings(all_forms: Iterable[str], steps: Sequence[int]) -> set[tuple[str, str]]:
    """``(gram, rest)`` of all forms; the rest is empty where no longer keyword comes through.

    A form that another one starts with needs none of its own: whatever starts it starts the other.
    """
    kept = [(step, _is_passed_through(step, steps)) for step in steps]
    found = {(EVERYTHING, "")}
    ordered = sorted(set(all_forms))
    for form, following in pairwise((*ordered, "")):
        if following.startswith(form):
            continue
        for step, passed in kept:
            if len(form) < step:
                break
            found.add((form[:step], form[step:] if passed else ""))
    return found


def _is_passed_through(step: int, steps: Sequence[int]) -> bool:
    return step == steps[-1] or step + 1 not in steps


@dataclass(frozen=True)
class Probe:
    """One posting list to read: rows whose rest starts with ``rest`` match."""

    gram: str
    rest: str

    @classmethod
    def of(cls, text: str, steps: Sequence[int]) -> Probe:
        """The longest gram that ``text`` reaches."""
        text = text[:FORM_CODE_POINTS]
        step = max((each for each in steps if each <= len(text)), default=0)
        return cls(text[:step], text[step:])
