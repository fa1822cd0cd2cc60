"""Keywords: what somebody typed, read in every way that it may be meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from daicho.search.grams import FORM_CODE_POINTS, Alternatives, GramSteps
from daicho.search.normalise import fold
from daicho.search.variants import KINDS, Kind, compute_meanings

MAX_CODE_POINTS = 64
MAX_WORDS = 5


class KeywordError(ValueError):
    """A keyword that cannot be searched for; ``malformed`` if it is no text at all."""

    def __init__(self, message: str, *, malformed: bool = False) -> None:
        super().__init__(message)
        self.malformed = malformed


@dataclass(frozen=True)
class Term:
    """A keyword, or a word of it: its meanings, any of which may start a form."""

    meanings: tuple[str, ...]

    @classmethod
    def parse(cls, folded: str, kinds: Collection[Kind]) -> Term:
        """Read a folded text."""
        found = {each[:FORM_CODE_POINTS] for each in compute_meanings(folded, kinds)}
        # What starts with another meaning finds nothing that the other does not.
        shortest = (each for each in found if not each.startswith(tuple(found - {each})))
        return cls(tuple(sorted(shortest)))

    def is_prefix_of(self, all_forms: Iterable[str]) -> bool:
        """Whether a meaning starts one of the forms."""
        return any(form.startswith(self.meanings) for form in all_forms)

    def compute_probes(self, steps: GramSteps) -> list[Alternatives]:
        """The lists whose rows, all together, hold the matches; of each it is one of several."""
        found = (each for text in self.meanings for each in steps.compute_probes(text))
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Keyword:
    """A keyword that matches what its ``whole`` matches, or every one of its ``words``.

    Without a whole nothing is left of it, and it matches nothing, unless it ``lists_all``.
    """

    whole: Term | None
    words: tuple[Term, ...] = ()
    lists_all: bool = False

    @classmethod
    def parse(cls, text: str, kinds: Collection[Kind] = KINDS) -> Keyword:
        """Read a keyword as a caller typed it; the empty one lists everything.

        ``kinds``: of the values that it is looked for in.

        Raises:
            KeywordError: over 64 code points or 5 words, or a lone surrogate in it.
        """
        if not text:
            return cls(None, lists_all=True)
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise KeywordError("a keyword must be well-formed text", malformed=True)
        if len(text) > MAX_CODE_POINTS * 4:  # before it is folded: that takes time
            raise KeywordError(f"a keyword has at most {MAX_CODE_POINTS} code points")
        folded = fold(text)
        words = folded.split()
        if len("".join(words)) > MAX_CODE_POINTS:
            raise KeywordError(f"a keyword has at most {MAX_CODE_POINTS} code points")
        if len(words) > MAX_WORDS:
            raise KeywordError(f"a keyword has at most {MAX_WORDS} words")
        if not words:
            return cls(None)
        apart = dict.fromkeys(Term.parse(word, kinds) for word in words) if len(words) > 1 else {}
        return cls(Term.parse(folded, kinds), tuple(apart))

    @property
    def terms(self) -> tuple[Term, ...]:
        """The whole keyword, then its words if it has several."""
        return () if self.whole is None else (self.whole, *self.words)

    def matches(self, all_forms: Sequence[str]) -> bool:
        """Whether the whole keyword starts a form, or each of its words does."""
        return self.is_contained_in([term.is_prefix_of(all_forms) for term in self.terms])

    def is_contained_in(self, forms: Sequence[bool]) -> bool:
        """What follows from which of the `terms` are found."""
        if self.whole is None:
            return self.lists_all
        return forms[0] or (len(forms) > 1 and all(forms[1:]))
