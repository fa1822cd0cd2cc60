"""Phone numbers as `docs/reference/text-folding.md` describes them."""

from __future__ import annotations

import re

import phonenumbers
from phonenumbers import PhoneNumber, PhoneNumberFormat


def read_number_plainly(text: str, region: str) -> tuple[str, ...]:
    """The national form of a phone number, and the international one unless it follows from it."""
    is_abroad = "+" in re.split("[0-9]", text)[0]
    digits = "".join(re.findall("[0-9]", re.sub(r"\(0\)|\(0?$", "", text) if is_abroad else text))
    if not digits:
        return ()
    number = _find_number(f"+{digits}" if is_abroad else digits, region)
    if number is None and digits.startswith("00") and not is_abroad:
        number = _find_number(f"+{digits[2:]}", region)
    code = str(phonenumbers.country_code_for_region(region))
    if number is None:
        is_own = is_abroad and digits.startswith(code)
        return (_dial(digits[len(code) :], region) if is_own else digits,)
    national = _format(number, PhoneNumberFormat.NATIONAL)
    international = _format(number, PhoneNumberFormat.E164)
    is_own = international.startswith(code) and str(number.country_code) == code
    if is_own and national == f"{_find_trunk(region)}{international[len(code) :]}":
        return (national,)
    return tuple(dict.fromkeys((national, international)))


def _find_number(dialled: str, region: str) -> PhoneNumber | None:
    try:
        number = phonenumbers.parse(dialled, region)
    except phonenumbers.NumberParseException:
        return None
    return number if phonenumbers.is_valid_number(number) else None


def _find_trunk(region: str) -> str:
    """What a number has before it within the country: the example's forms differ by it."""
    example = phonenumbers.example_number(region)
    if example is None:
        return ""
    number = _format(example, PhoneNumberFormat.E164).removeprefix(str(example.country_code))
    head, is_there, _ = _format(example, PhoneNumberFormat.NATIONAL).rpartition(number)
    return head if is_there else ""


def _dial(within: str, region: str) -> str:
    trunk = _find_trunk(region)
    return trunk + (within.removeprefix("0") if trunk == "0" else within)


def _format(number: PhoneNumber, style: int) -> str:
    return re.sub("[^0-9]", "", phonenumbers.format_number(number, style))
