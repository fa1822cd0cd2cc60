"""Grams: which posting lists a value stands in, and which list a keyword reads.

A value has a *form* for each of its words: the text from that word's start to the end, without
spaces (``led zeppelin`` has ``ledzeppelin`` and ``zeppelin``). Its grams are the form's prefixes
at certain lengths, the *steps*. A keyword between two steps comes through the lower one, so the
rest of the form stands behind the gram in the posting's sort key: what a longer keyword excludes
is excluded on index rows, without reading an item.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from daicho.search.normalise import fold

STEPS = (1, 2, 3, 5, 8)
FORM_CODE_POINTS = 64
KEYWORD_CODE_POINTS = 64
KEYWORD_WORDS = 5
EVERYTHING = ""
"""The gram that every item of a search has: listing all is searching for nothing."""


class KeywordError(ValueError):
    """A keyword that cannot be searched for: too long, or of too many words."""


def forms(value: str) -> list[str]:
    """The forms of a value, each cut at 64 code points."""
    words = fold(value).split()
    return ["".join(words[start:])[:FORM_CODE_POINTS] for start in range(len(words))]


def postings(values: Iterable[str], steps: Sequence[int]) -> set[tuple[str, str]]:
    """``(gram, rest)`` of all values; the rest is empty where no longer keyword comes through."""
    found = {(EVERYTHING, "")}
    for value in values:
        for form in forms(value):
            for step in steps:
                if len(form) < step:
                    break
                found.add((form[:step], form[step:] if _is_passed_through(step, steps) else ""))
    return found


def _is_passed_through(step: int, steps: Sequence[int]) -> bool:
    return step == steps[-1] or step + 1 not in steps


@dataclass(frozen=True)
class Probe:
    """One posting list to read: rows whose rest starts with ``rest`` are candidates."""

    gram: str
    rest: str

    @classmethod
    def of(cls, text: str, steps: Sequence[int]) -> Probe:
        """The longest gram that ``text`` reaches."""
        step = max((each for each in steps if each <= len(text)), default=0)
        return cls(text[:step], text[step:])


@dataclass(frozen=True)
class Keyword:
    """A normalised keyword. ``words`` is empty if nothing of it is left: it matches nothing."""

    words: tuple[str, ...]
    lists_all: bool = False

    @classmethod
    def parse(cls, text: str) -> Keyword:
        """Read a keyword as a caller typed it; the empty one lists everything.

        Raises:
            KeywordError: over 64 code points or 5 words, or a lone surrogate in it.
        """
        if not text:
            return cls((), lists_all=True)
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise KeywordError("a keyword must be well-formed text")
        words = tuple(fold(text).split())
        if len("".join(words)) > KEYWORD_CODE_POINTS:
            raise KeywordError(f"a keyword has at most {KEYWORD_CODE_POINTS} code points")
        if len(words) > KEYWORD_WORDS:
            raise KeywordError(f"a keyword has at most {KEYWORD_WORDS} words")
        return cls(words)

    @property
    def whole(self) -> str:
        """The keyword without spaces."""
        return "".join(self.words)

    def matches(self, values: Iterable[str]) -> bool:
        """Whether the whole keyword starts a form of the values, or each of its words does."""
        if self.lists_all:
            return True
        if not self.words:
            return False
        all_forms = [form for value in values for form in forms(value)]
        return _starts_any(self.whole, all_forms) or all(
            _starts_any(word, all_forms) for word in self.words
        )

    def probes(self, steps: Sequence[int]) -> list[Probe]:
        """Lists whose union holds every match: the whole keyword's, and the longest word's."""
        if self.lists_all:
            return [Probe(EVERYTHING, "")]
        if not self.words:
            return []
        longest = max(self.words, key=len)
        return list(dict.fromkeys(Probe.of(text, steps) for text in (self.whole, longest)))


def _starts_any(text: str, all_forms: Iterable[str]) -> bool:
    return any(form.startswith(text) for form in all_forms)
