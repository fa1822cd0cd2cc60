"""Spellings: the readings of a value of a kind, and the meanings of a keyword.

A value has *readings*, folded texts with single spaces. The readings of a company are its name with
and without its designator. Those of a phone number are in `daicho.search.phones`. A keyword has the
same readings, but no part of it is removed, because all typed text is searched. One reading must
agree.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import get_args

from daicho.plan.text_rules import FIRST_FOLD, TextKind, TextRules
from daicho.search.letters import DIGITS
from daicho.search.normalise import fold, split_words

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
