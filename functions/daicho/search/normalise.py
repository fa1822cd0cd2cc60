"""What a text is read as: one normal form for stored values and keywords, its words, and spellings.

`docs/reference/text-folding.md` has the rules of the fold and of words. A value has *readings*,
folded texts with single spaces. The readings of a company are its name with and without its
designator. Those of a phone number are in `daicho.search.phones`. A keyword has the same readings,
but no part of it is removed, because all typed text is searched. One reading must agree.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Literal, get_args

from daicho.plan.text_rules import FIRST_FOLD, NEWEST_FOLD, TextKind, TextRules
from daicho.search.letters import APOSTROPHES, DASHES, DIGITS, FILLERS, LETTERS
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
    return folded.isalnum() or any(_classify(character) != "end" for character in folded)


@lru_cache(maxsize=4096)
def _classify(character: str) -> Literal["end", "symbol", "letter"]:
    if not is_assigned(character):  # a later Unicode may make anything of it
        return "letter"
    category = unicodedata.category(character)[0]
    if character in SYMBOLS or category == "S":
        return "symbol"
    return "end" if category in "PZ" or character.isspace() else "letter"


ALL_RULES: tuple[TextRules, ...] = tuple(map(TextRules, get_args(TextKind)))
"""The newest rules of each kind."""

# Each designator in one form. A user who types the longest spelling types this form first.
_JAPANESE = {
    "(株)": "株式会社",
    "(有)": "有限会社",
    "(同)": "合同会社",
    "(名)": "合名会社",
    "(資)": "合資会社",
    "(財)": "財団法人",
    "(社)": "社団法人",
}
_SHORT = re.compile(f"(?:{'|'.join(map(re.escape, _JAPANESE))})")
_UNCLOSED = re.compile(r"\([株有同名資財社]$")
_SPELLED = re.compile("|".join(_JAPANESE.values()))
_LATIN = re.compile(
    r"(?:(?<=\s)|(?<=,)|^)"
    r"(co|inc|ltd|corp|llc|plc|gmbh|kk|incorporated|limited|corporation|company)"
    r"[.,]*(?=\s|$)"
)
_DOTTED = re.compile(r"(?<![^\s,])((?:[a-z]\.)+[a-z]?)(?=[\s,]|$)")
_CO_LTD = re.compile(r"(?<![^\s,])co\.?,? ?ltd(?![^\s.,])")
_DANGLING = re.compile(r"\s*,\s*|\s+")

DESIGNATORS = {long: short[1] for short, long in _JAPANESE.items()}
"""Designators as they are spelled, and the mark in the sort key of the text after them."""

KINDRED = {"株式": "株", "株式会": "株", "有限": "有", "有限会": "有", "合同会": "合同"}
"""Beginnings with hardly any other continuation: the list of the shorter one is sufficient."""

KINDRED_INSIDE = {"株式": "株", "株式会": "株", "式会": "式", "式会社": "式"}
"""The same inside values."""

_DASHES = "-\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u30fc\u30fb\ufe63\uff0d"
_PHONE = frozenset(f"{''.join(sorted(DIGITS))}{_DASHES}+().,/* \u00b7\u2043~")
_TRUNK = re.compile(r"^\s*\+\s*81[^0-9(]*(?:\(0\)|0)?|\(0\)")


def compute_readings(value: str, rules: TextRules) -> tuple[str, ...]:
    """The readings of a stored value by the rules of its field, without empty ones."""
    plain = fold(value, rules.fold)
    if rules.kind == "phone":
        return _read_phone(plain, rules)
    readings = [plain]
    if rules.kind == "company":
        named = split_designator(plain)
        readings = [named, _strip_designators(named)]
    if rules.fold != FIRST_FOLD:
        readings = list(map(split_words, readings))
    return tuple(dict.fromkeys(filter(None, readings)))


def compute_meanings(folded: str, all_rules: Collection[TextRules]) -> tuple[str, ...]:
    """The meanings of a folded keyword, or of a word of one, without spaces.

    The first is the text as it is. If the searched values (``all_rules``) are companies, one has
    the designators in their one form. If they are phone numbers, others are what a text of digits
    may mean as one.
    """
    meanings = [folded]
    if any(rules.kind == "company" for rules in all_rules):
        meanings.append(
            _UNCLOSED.sub(lambda match: _JAPANESE[f"{match[0]})"], split_designator(folded))
        )
    if any(rules.fold != FIRST_FOLD for rules in all_rules):
        meanings = list(map(split_words, meanings))
    if is_number(folded, all_rules):
        for rules in all_rules:
            if rules.kind == "phone":
                meanings += _list_numbers(folded, rules)
    return tuple(
        dict.fromkeys(joined for meaning in meanings if (joined := meaning.replace(" ", "")))
    )


def is_number(folded: str, all_rules: Collection[TextRules]) -> bool:
    """Whether phone numbers are searched, and a folded keyword can be one."""
    is_searched = any(rules.kind == "phone" for rules in all_rules)
    return is_searched and not DIGITS.isdisjoint(folded) and _PHONE.issuperset(folded)


def split_designator(folded: str) -> str:
    """A folded text with every company designator in its one form, as a word of its own."""
    text = _SHORT.sub(lambda match: f" {_JAPANESE[match[0]]} ", folded)
    text = _SPELLED.sub(lambda match: f" {match[0]} ", text)
    text = _DOTTED.sub(lambda match: match[1].replace(".", ""), text)
    text = _CO_LTD.sub("co ltd", text)
    text = _LATIN.sub(lambda match: match[1], text)
    return " ".join(_DANGLING.sub(" ", text).split())


def _read_phone(plain: str, rules: TextRules) -> tuple[str, ...]:
    from daicho.search import phones  # noqa: PLC0415  (only searches of phone numbers need it)

    if rules.fold != FIRST_FOLD:
        return phones.read_number(plain, rules.region or phones.DEFAULT_REGION)
    digits = _extract_digits(phones.EXTENSION.sub("", plain))
    return (digits,) if digits else ()


def _list_numbers(folded: str, rules: TextRules) -> list[str]:
    if rules.fold == FIRST_FOLD:
        return [_extract_digits(folded)]
    from daicho.search import phones  # noqa: PLC0415  (as above)

    return phones.list_meanings(folded, rules.region or phones.DEFAULT_REGION)


def _extract_digits(folded: str) -> str:
    """The digits of a phone number as the first fold has them: those of Japan."""
    dialled = _TRUNK.sub("0", folded)
    return "".join(character for character in dialled if character in DIGITS)


def _strip_designators(named: str) -> str:
    text = _SPELLED.sub(" ", named)
    text = _LATIN.sub(" ", text)
    return " ".join(text.split())
