"""Keywords: the text that a user typed, with all of its possible meanings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from daicho.plan.text_rules import FIRST_FOLD, TextRules
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.search.grams import FORM_CODE_POINTS, Alternatives, GramSteps
from daicho.search.normalise import ALL_RULES, compute_meanings, fold, has_words, is_number

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
    def parse(cls, folded: str, rules: Collection[TextRules]) -> Term:
        """Read a folded text."""
        meanings = {meaning[:FORM_CODE_POINTS] for meaning in compute_meanings(folded, rules)}
        # A meaning that starts with another one adds no matches to those of the other.
        shortest = (
            meaning for meaning in meanings if not meaning.startswith(tuple(meanings - {meaning}))
        )
        return cls(tuple(sorted(shortest)))

    def is_prefix_of(self, all_forms: Iterable[str]) -> bool:
        """Whether a meaning starts one of the forms."""
        return any(form.startswith(self.meanings) for form in all_forms)

    def compute_probes(self, steps: GramSteps) -> list[Alternatives]:
        """The lists whose rows together contain the matches; each is a choice of several lists."""
        choices: dict[Alternatives, None] = {}
        for text in self.meanings:
            choices |= dict.fromkeys(steps.compute_probes(text))
        return list(choices)


@dataclass(frozen=True)
class Keyword:
    """A keyword that matches if its first term matches, or if every one of its other terms does.

    ``terms``: the whole keyword, then its words if it has several. A keyword without terms has no
    text. It matches nothing, unless it ``lists_all``.
    """

    terms: tuple[Term, ...]
    lists_all: bool = False

    @classmethod
    def parse(cls, text: str, rules: Collection[TextRules] = ALL_RULES) -> Keyword:
        """Read a keyword as a caller typed it; the empty one lists everything.

        ``rules``: of the searched values, by one version of the fold.

        Raises:
            KeywordError: it has over 64 code points or 5 words, or a lone surrogate.
        """
        if not text:
            return cls((), lists_all=True)
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise KeywordError("a keyword must be well-formed text", malformed=True)
        if len(text) > MAX_CODE_POINTS * 4:  # checked before the folding, which takes time
            raise KeywordError(f"a keyword has at most {MAX_CODE_POINTS} code points")
        version = max(each.fold for each in rules)
        folded = fold(text, version)
        words = folded.split()
        if len("".join(words)) > MAX_CODE_POINTS:
            raise KeywordError(f"a keyword has at most {MAX_CODE_POINTS} code points")
        if len(words) > MAX_WORDS and is_number(folded, rules):
            words = ["".join(words)]  # +33 1 42 68 53 00
        if len(words) > MAX_WORDS:
            raise KeywordError(f"a keyword has at most {MAX_WORDS} words")
        if not words:
            return cls(())
        if version != FIRST_FOLD:  # a dash between two words is none
            words = list(filter(has_words, words)) or words
        terms = [Term.parse(folded, rules)]
        if len(words) > 1:
            terms += dict.fromkeys([Term.parse(word, rules) for word in words])
        return cls(tuple(terms))

    def matches(self, all_forms: Sequence[str]) -> bool:
        """Whether the whole keyword starts a form, or each of its words does."""
        return self.is_match(self.match_terms(all_forms))

    def match_terms(self, all_forms: Sequence[str]) -> list[bool]:
        """For each term, whether it starts a form."""
        return [term.is_prefix_of(all_forms) for term in self.terms]

    def is_match(self, term_matches: Sequence[bool]) -> bool:
        """Whether the keyword matches; ``term_matches`` has one result for each term."""
        if not self.terms:
            return self.lists_all
        return term_matches[0] or (len(term_matches) > 1 and all(term_matches[1:]))
