"""Spellings: how a value of a kind reads, and how a keyword may be meant.

A value has *readings*, folded texts with single spaces: a company with its designator and without,
a phone number its digits. A keyword has the same, but is never stripped of anything: what somebody
types is looked for. One of them must agree.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from daicho.search.normalise import fold

Kind = Literal["text", "company", "phone"]
KINDS: tuple[Kind, ...] = ("text", "company", "phone")

# Each designator in one form, the one that typing the longest spelling passes through.
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
"""Designators as they are spelled, and the mark of what follows them in a sort key."""

KINDRED = {"株式": "株", "株式会": "株", "有限": "有", "有限会": "有", "合同会": "合同"}
"""What hardly anything goes on otherwise with: the shorter beginning's list does for it."""

KINDRED_INSIDE = {"株式": "株", "株式会": "株", "式会": "式", "式会社": "式"}
"""The same inside values."""

DIGITS = frozenset("0123456789")
_DASHES = "-\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u30fc\u30fb\ufe63\uff0d"
_PHONE = frozenset(f"{''.join(sorted(DIGITS))}{_DASHES}+().,/* \u00b7\u2043~")
_EXTENSION = re.compile(r"(?:内線|ext(?:ension)?|x|#|;).*$", re.DOTALL)
_TRUNK = re.compile(r"^\s*\+\s*81[^0-9(]*(?:\(0\)|0)?|\(0\)")


def compute_readings(value: str, kind: Kind) -> tuple[str, ...]:
    """How a stored value of a kind may be read; empty ones are left out."""
    plain = fold(value)
    match kind:
        case "company":
            named = split_designator(plain)
            found = (named, _strip_designators(named))
        case "phone":
            found = (extract_digits(_EXTENSION.sub("", plain)), "")
        case _:
            found = (plain, "")
    return tuple(dict.fromkeys(text for text in found if text))


def compute_meanings(folded: str, kinds: Collection[Kind]) -> tuple[str, ...]:
    """What a folded keyword, or a word of one, may mean, without spaces.

    As it is; where ``kinds`` of values are searched that are read otherwise, with its designators
    in their one form, and its digits if all of it is of a phone number.
    """
    found = [folded]
    if "company" in kinds:
        found.append(
            _UNCLOSED.sub(lambda match: _JAPANESE[f"{match[0]})"], split_designator(folded))
        )
    if "phone" in kinds and DIGITS & set(folded) and _PHONE.issuperset(folded):
        found.append(extract_digits(folded))
    return tuple(dict.fromkeys(joined for each in found if (joined := each.replace(" ", ""))))


def split_designator(folded: str) -> str:
    """A folded text with every company designator in its one form, as a word of its own."""
    text = _SHORT.sub(lambda match: f" {_JAPANESE[match[0]]} ", folded)
    text = _SPELLED.sub(lambda match: f" {match[0]} ", text)
    text = _DOTTED.sub(lambda match: match[1].replace(".", ""), text)
    text = _CO_LTD.sub("co ltd", text)
    text = _LATIN.sub(lambda match: match[1], text)
    return " ".join(_DANGLING.sub(" ", text).split())


def extract_digits(folded: str) -> str:
    """The digits of a phone number as it is dialled at home: ``+81`` and ``(0)`` become ``0``."""
    dialled = _TRUNK.sub("0", folded)
    return "".join(character for character in dialled if character in DIGITS)


def _strip_designators(named: str) -> str:
    text = _SPELLED.sub(" ", named)
    text = _LATIN.sub(" ", text)
    return " ".join(text.split())
