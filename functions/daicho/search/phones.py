"""Phone numbers of all countries, by the library `phonenumbers`, which is loaded at the first one.

A number is stored as it is dialled within its country, and a number of another country than that
of the declaration also with its code. Keywords are beginnings of numbers, which the library does
not read. So a keyword has a meaning for each way of dialling.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from daicho.search.letters import DIGITS

DEFAULT_REGION = "JP"
"""The country of numbers without a code, if the declaration names none."""
EXTENSION = re.compile(r"(?:内線|ext(?:ension)?|x|#|;).*$", re.DOTALL)
_TRUNK = re.compile(r"\((?:0\)|0?$)")
"""``(0)``, which is only dialled within the country; perhaps not typed to its end."""


class RegionRules(NamedTuple):
    """How numbers of a country are dialled.

    ``trunk``: what the national form has before the number itself. ``prefix``: what may be dialled
    before it. ``abroad``: what is dialled before the code of another country; empty if it depends.
    ``is_plain``: numbers that are dialled with 0 before them have no other form within the country.
    """

    code: str
    trunk: str
    prefix: str
    abroad: str
    is_plain: bool


@lru_cache(maxsize=4096)
def read_number(folded: str, region: str) -> tuple[str, ...]:
    """The readings of a folded phone number: without an extension, digits only; none of no digits.

    The first is its national form. The other one begins with the code of its country.
    """
    text = EXTENSION.sub("", folded)
    dialled = _select_dialled(text)
    if not dialled.strip("+"):
        return ()
    if _is_own(dialled, find_rules(region)):
        return (dialled,)
    number = _parse(dialled, region)
    if number is None and dialled.startswith("00"):
        number = _parse(f"+{dialled[2:]}", region)
    return _list_forms(number, region) if number else (_read_unknown(dialled, region),)


def list_meanings(folded: str, region: str) -> list[str]:
    """What a folded keyword may mean as the beginning of a phone number."""
    dialled = _select_dialled(folded)
    digits, rules = dialled.strip("+"), find_rules(region)
    meanings = [digits]
    abroad = digits if dialled.startswith("+") else _strip_abroad(digits, rules)
    if abroad:
        meanings.append(abroad)
        if abroad.startswith(rules.code):
            meanings.append(_dial_within(abroad, rules))
    elif rules.prefix != rules.trunk and digits.startswith(rules.prefix):
        meanings.append(digits.removeprefix(rules.prefix))
    number = _parse(dialled, region)
    if number is not None:
        meanings += _list_forms(number, region)
    return meanings


@lru_cache(maxsize=256)
def find_rules(region: str) -> RegionRules:
    """How numbers of a country are dialled.

    Raises:
        ValueError: there is no such region.
    """
    phonenumbers = _load()
    metadata = phonenumbers.PhoneMetadata.metadata_for_region(region, None)
    if metadata is None:
        raise ValueError(f"{region!r} is no region with phone numbers")
    example = phonenumbers.example_number(region)
    national, number = _format_national(example), _get_significant(example)
    trunk = national.removesuffix(number) if national.endswith(number) else ""
    abroad = metadata.international_prefix or ""
    inserted = re.sub(r"\\[1-9]", "", metadata.national_prefix_transform_rule or "")
    return RegionRules(
        str(metadata.country_code),
        trunk,
        metadata.national_prefix or "",
        abroad if abroad.isdigit() else "",
        is_plain=trunk == "0" and not inserted,
    )


def _load() -> Any:
    import phonenumbers  # noqa: PLC0415  (45 ms, which only searches of phone numbers need)

    return phonenumbers


def _select_dialled(folded: str) -> str:
    """The digits, with a plus sign before them if there is one."""
    before = re.match("[^0-9]*", folded)
    plus = "+" if before and "+" in before[0] else ""
    text = _TRUNK.sub("", folded) if plus else folded
    return plus + "".join(character for character in text if character in DIGITS)


def _strip_abroad(digits: str, rules: RegionRules) -> str:
    for prefix in ("00", rules.abroad):
        if prefix and digits.startswith(prefix):
            return digits.removeprefix(prefix)
    return ""


def _is_own(dialled: str, rules: RegionRules) -> bool:
    """Whether a number is in its national form, as most are, so that the library need not read it.

    It takes a tenth of the time, and does not depend on which numbers the library knows.
    """
    is_national = rules.is_plain and dialled.startswith("0") and not dialled.startswith("00")
    return is_national and not _strip_abroad(dialled, rules)


def _parse(dialled: str, region: str) -> Any:
    """The number, if it is one that exists."""
    phonenumbers = _load()
    try:
        number = phonenumbers.parse(dialled, region)
    except phonenumbers.NumberParseException:
        return None
    return number if phonenumbers.is_valid_number(number) else None


def _list_forms(number: Any, region: str) -> tuple[str, ...]:
    national, rules = _format_national(number), find_rules(region)
    code, significant = str(number.country_code), _get_significant(number)
    is_derived = code == rules.code and national == f"{rules.trunk}{significant}"
    return (national,) if is_derived else tuple(dict.fromkeys((national, f"{code}{significant}")))


def _read_unknown(dialled: str, region: str) -> str:
    """The digits of what is no number that exists, such as an incomplete one."""
    digits, rules = dialled.strip("+"), find_rules(region)
    is_national = dialled.startswith("+") and digits.startswith(rules.code)
    return _dial_within(digits, rules) if is_national else digits


def _dial_within(international: str, rules: RegionRules) -> str:
    """The national form of digits that begin with the code of the country."""
    within = international.removeprefix(rules.code)
    # Some write +81 03: no number begins with 0 where that is the trunk prefix.
    return f"{rules.trunk}{within.removeprefix('0') if rules.trunk == '0' else within}"


def _format_national(number: Any) -> str:
    phonenumbers = _load()
    text = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.NATIONAL)
    return "".join(character for character in text if character in DIGITS)


def _get_significant(number: Any) -> str:
    return str(_load().national_significant_number(number))
