"""Grams and keywords: the posting lists that contain a value, and those that a keyword reads.

A value has *forms*: the text from the start of each word to the end (``led zeppelin`` has
``ledzeppelin`` and ``zeppelin``), or, for a search that finds what contains the keyword, from each
code point; always without spaces. Its grams are the forms' prefixes at certain lengths, the
*steps*. A keyword with a length between two steps reads the list of the lower one. So the sort key
of a posting contains the text after the gram, up to the next step. In a search inside values it
contains the whole value. So a keyword excludes index rows without reads of items.

Ten digits and ninety kana are less selective than thousands of ideographs, so they have more steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from daicho.plan import SearchPlan
from daicho.plan.text_rules import FIRST_FOLD, TextRules
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.search.letters import DIGITS
from daicho.search.normalise import (
    ALL_RULES,
    DESIGNATORS,
    KINDRED,
    KINDRED_INSIDE,
    compute_meanings,
    compute_readings,
    fold,
    has_words,
    is_number,
)
from daicho.storage.attributes import Image

STEPS = (1, 2, 3, 5, 8)
"""Lengths of grams in a search by the beginning of words..."""

KANA_STEPS = DIGIT_STEPS = (1, 2, 3, 4, 5, 6, 8)
"""...of grams that begin with kana, or with a digit if phone numbers are searched."""

INSIDE_STEPS = (1, 2)
"""Lengths in a search that finds what contains the keyword..."""

INSIDE_STEPS_WITH_DIGITS = (1, 2, 3)
"""...if phone numbers are searched: a hundred lists of two digits would all be long..."""

INSIDE_DIGIT_STEPS = (1, 2, 3, 4)
"""...and in that case of grams that consist of digits."""

FORM_CODE_POINTS = 64
EVERYTHING = ""
"""The gram that every item of a search has: the empty keyword lists all items."""

HOT_GRAM = 1
"""Grams of this length and shorter are spread over a search's shards."""

MOST_PROBED, MOST_PROBED_DIGITS = 4, 2
"""The number of lists of a keyword inside values from which the sparsest is chosen."""

TRUNK = "0"
"""Phone numbers begin with it. Its list would contain nearly everything. So a form with a second
digit is only in the list of the two digits, and these ten lists are merged."""

_KANA = range(0x30A0, 0x3100)

Mode = Literal["prefix", "contains"]
IndexedForm = tuple[str, ...]
"""A gram; the text after it, as far as it is needed; the mark of a designator before it."""


class Probe(NamedTuple):
    """One posting list to read, and the condition for its rows.

    The rest of a row starts with ``rest``, or contains it if ``inside`` is set. The designator
    before the gram has this ``mark``.
    """

    gram: str
    rest: str = ""
    mark: str = ""
    inside: bool = False


Alternatives = tuple[Probe, ...]
"""Lists, each of which contains all matches."""


@dataclass(frozen=True)
class GramSteps:
    """The lengths of a search's grams; ``digits`` and ``kana`` are those of grams that begin so."""

    mode: Mode
    others: tuple[int, ...]
    digits: tuple[int, ...] = ()
    kana: tuple[int, ...] = ()

    def compute_postings(self, readings: Iterable[str]) -> set[IndexedForm]:
        """The postings of the readings of an item's values (folded, with single spaces)."""
        if self.mode == "contains":
            return {(EVERYTHING, ""), *_grams_inside(self, readings)}
        forms = {form for reading in readings for form in compute_forms(reading, "prefix")}
        return {(EVERYTHING, ""), *_probe_beginning(self, forms)}

    def compute_probes(self, text: str) -> list[Alternatives]:
        """The lists that together contain all values that begin with ``text``, or contain it."""
        text = text[:FORM_CODE_POINTS]
        if self.mode == "contains":
            return [_probe_inside(self, text)]
        if text == TRUNK and self.spreads_trunk:
            return [
                (Probe(gram),) for gram in (TRUNK, *(TRUNK + digit for digit in sorted(DIGITS)))
            ]
        probes = [self._find_longest(text)]
        if probes[0].rest:
            # Many names have a company designator: the text after it is more selective.
            probes += (
                self._find_longest(text[len(designator) :], mark)
                for designator, mark in DESIGNATORS.items()
                if text.startswith(designator) and len(text) > len(designator) + 1
            )
        return [tuple(probes)]

    def for_text(self, text: str) -> tuple[int, ...]:
        """The lengths of the grams at the beginning of a text."""
        if self.digits and text[:1] and text[0] in DIGITS:
            return self.digits
        if self.kana and text and ord(text[0]) in _KANA:
            return self.kana
        return self.others

    def index_form(self, form: str) -> list[int]:
        """Of these, the lengths at which a form is in a list, if it is long enough."""
        return [step for step in self.for_text(form) if not self._is_indexed(form, step)]

    @property
    def spreads_trunk(self) -> bool:
        """Whether the list of `TRUNK` is spread over the lists of two digits."""
        return self.digits[:2] == (1, 2)

    def _is_indexed(self, form: str, step: int) -> bool:
        if step == len(TRUNK) and form[:1] == TRUNK and self.spreads_trunk:
            return form[1:2] != "" and form[1] in DIGITS
        shorter = KINDRED.get(form[:step]) if step <= len(form) else None
        return shorter is not None and len(shorter) in self.for_text(form)

    def _find_longest(self, text: str, mark: str = "") -> Probe:
        step = max((step for step in self.index_form(text) if step <= len(text)), default=0)
        return Probe(text[:step], text[step:], mark)

    def is_within(self, gram: str) -> tuple[int, ...]:
        """The lengths of grams inside values, for numbers or for other text, as this gram is."""
        return self.digits if self.digits and _is_number(gram) else self.others

    def has_gram(self, gram: str) -> bool:
        """Whether the postings of a gram inside values have the value, for longer keywords."""
        return len(gram) == self.is_within(gram)[-1] or gram in KINDRED_INSIDE.values()


def compute_forms(reading: str, mode: Mode) -> list[str]:
    """The forms of a reading (folded, with single spaces), each cut at 64 code points."""
    words = reading.split()
    whole = "".join(words)
    if mode == "contains":
        return [whole[start : start + FORM_CODE_POINTS] for start in range(len(whole))]
    forms, start = [], 0
    for word in words:
        forms.append(whole[start : start + FORM_CODE_POINTS])
        start += len(word)
    return forms


def _probe_beginning(steps: GramSteps, all_forms: set[str]) -> Iterator[IndexedForm]:
    for form, mark in _select_needed(all_forms):
        for step, following in pairwise((*steps.index_form(form), FORM_CODE_POINTS + 1)):
            if step > len(form):
                break
            behind = form[step : following - 1]
            yield (form[:step], behind, mark) if mark else (form[:step], behind)


def _select_needed(all_forms: set[str]) -> Iterator[tuple[str, str]]:
    """Forms, each with the mark of the designator before it.

    A form needs no postings of its own if another form with its mark starts with it: a keyword that
    starts the first also starts the other. For a form without a mark, the other may have any mark.
    """
    marked_forms = {(form, "") for form in all_forms} | {
        (form[len(designator) :], mark)
        for form in all_forms
        for designator, mark in DESIGNATORS.items()
        if form.startswith(designator) and form != designator
    }
    for form, mark in marked_forms:
        others = (
            other
            for other, other_mark in marked_forms
            if mark in ("", other_mark) and (other, other_mark) != (form, mark)
        )
        if not any(other.startswith(form) for other in others):
            yield form, mark


def _grams_inside(steps: GramSteps, readings: Iterable[str]) -> Iterator[IndexedForm]:
    values = {"".join(reading.split()) for reading in readings}
    lengths = sorted({*steps.others, *steps.digits})
    for value in values:
        if any(value in other for other in values if other != value):
            continue
        for start in range(len(value)):
            for length in lengths:
                gram = value[start : start + length]
                if len(gram) < length or length not in steps.is_within(gram):
                    continue
                if gram not in KINDRED_INSIDE:
                    yield gram, _grams_around(value, start) if steps.has_gram(gram) else ""


def _grams_around(value: str, start: int) -> str:
    """The part of a value that a keyword with the gram at ``start`` can contain."""
    if len(value) <= FORM_CODE_POINTS:
        return value
    return value[max(0, start - FORM_CODE_POINTS + 1) : start + FORM_CODE_POINTS]


def _probe_inside(steps: GramSteps, text: str) -> Alternatives:
    """The list of the text itself, or lists of some of its grams, spread over the text."""
    if len(text) in steps.is_within(text) and text not in KINDRED_INSIDE:
        return (Probe(text),)
    grams = dict.fromkeys(_select_carrying(steps, text))
    specific_grams = [
        gram for gram in grams if not any(gram in designator for designator in DESIGNATORS)
    ]
    chosen = specific_grams or list(grams)
    most = MOST_PROBED_DIGITS if _is_number(text) else MOST_PROBED
    if len(chosen) > most:
        chosen = [chosen[place * (len(chosen) - 1) // (most - 1)] for place in range(most)]
    return tuple(Probe(gram, text, inside=True) for gram in chosen)


def _select_carrying(steps: GramSteps, text: str) -> Iterator[str]:
    if text in KINDRED_INSIDE:
        yield KINDRED_INSIDE[text]
    for start in range(len(text)):
        for length in {steps.others[-1], *steps.digits[-1:]}:
            gram = text[start : start + length]
            if len(gram) == length == steps.is_within(gram)[-1]:
                yield KINDRED_INSIDE.get(gram, gram)


def _is_number(text: str) -> bool:
    return text != "" and all(character in DIGITS for character in text)


def get_steps(search: SearchPlan) -> GramSteps:
    """The lengths of a search's grams."""
    return _make_steps(search.mode, search.steps, search.digits, search.kana)


_make_steps = lru_cache(maxsize=256)(GramSteps)


def compute_postings(search: SearchPlan, image: Image) -> set[IndexedForm]:
    """The grams of an image, each with the text after it and the mark before it."""
    return get_steps(search).compute_postings(_compute_readings(search, image))


def compute_field_forms(search: SearchPlan, image: Image) -> list[str]:
    """The forms of all texts that a search reads: a keyword matches if it starts one."""
    readings = _compute_readings(search, image)
    forms = [form for reading in readings for form in compute_forms(reading, search.mode)]
    return list(dict.fromkeys(forms))


def _compute_readings(search: SearchPlan, image: Image) -> list[str]:
    readings: list[str] = []
    for name, rules in search.rules_by_field.items():
        value = image.get(name)
        if value is not None and "NULL" not in value and value["S"]:
            readings += compute_readings(value["S"], rules)
    return readings


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
