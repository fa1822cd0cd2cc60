"""Phone numbers of all countries: international, national and 00 forms find each other."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from daicho.plan import TextRules
from daicho.search import phones
from daicho.search.grams import Keyword
from daicho.search.normalise import compute_readings
from daicho.search.phones import find_rules, list_meanings, read_number

TYPES = (PhoneNumberType.FIXED_LINE, PhoneNumberType.MOBILE, PhoneNumberType.TOLL_FREE)


class Written(NamedTuple):
    """A number of a region in the forms in which people write it."""

    region: str
    national: str
    international: str
    abroad: str


def list_numbers() -> Iterator[Written]:
    """A number of each kind of each region that has one."""
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        for kind in TYPES:
            number = phonenumbers.example_number_for_type(region, kind)
            if number is not None and phonenumbers.is_valid_number(number):
                full = phonenumbers.format_number(number, PhoneNumberFormat.E164)
                yield Written(
                    region,
                    phonenumbers.format_number(number, PhoneNumberFormat.NATIONAL),
                    phonenumbers.format_number(number, PhoneNumberFormat.INTERNATIONAL),
                    f"00{full[1:]}",
                )


NUMBERS = tuple(list_numbers())


def finds(keyword: str, value: str, region: str) -> bool:
    rules = TextRules("phone", region=region)
    return Keyword.parse(keyword, [rules]).matches(compute_readings(value, rules))


@pytest.mark.parametrize(
    "value",
    [
        "03-1234-5678",
        "0312345678",
        "+81 3 1234 5678",
        "+81-(0)3-1234-5678",
        "＋８１（０）３ー１２３４−５６７８",
        "0081 3 1234 5678",
        "tel:+81-3-1234-5678",
        "(03) 1234 5678",
        "٠٣ ١٢٣٤ ٥٦٧٨",
        "03.1234.5678 内線 12",
        "03-1234-5678 ext. 12",
        "03-1234-5678x12",
        "03-1234-5678#9",
    ],
)
def test_a_phone_number_is_its_digits_as_dialled_at_home(value: str) -> None:
    assert compute_readings(value, TextRules("phone")) == ("0312345678",)


def test_numbers_of_other_countries_also_have_their_code() -> None:
    phone = TextRules("phone")
    assert compute_readings("+1 650 253 0000", phone) == ("6502530000", "16502530000")
    assert compute_readings("010 44 20 7946 0018", phone) == ("02079460018", "442079460018")
    assert compute_readings("unknown", phone) == ()
    assert compute_readings("+", phone) == ()


@pytest.mark.parametrize(
    ("value", "reading"), [("031", "031"), ("12", "12"), ("+81 3", "03"), ("+1 3", "13")]
)
def test_an_incomplete_number_is_its_digits(value: str, reading: str) -> None:
    assert compute_readings(value, TextRules("phone")) == (reading,)


@pytest.mark.parametrize("typed", ["031", "٠٣١", "+81 31", "0081 31", "03-1"])
def test_the_beginning_of_a_number_finds_it(typed: str) -> None:
    assert finds(typed, "٠٣١٢٣٤٥", "JP")


def test_all_forms_of_a_number_find_each_other_within_its_country() -> None:
    wrong = [
        (written.region, typed, value)
        for written in NUMBERS
        for value in written[1:]
        for typed in written[1:]
        if not finds(typed, value, written.region)
    ]
    assert len(NUMBERS) > 600
    assert wrong == []


def test_all_forms_of_a_number_find_it_from_another_country() -> None:
    wrong = [
        (written.region, typed)
        for written in NUMBERS
        for typed in written[1:]
        if not finds(typed, written.international, "JP" if written.region != "JP" else "GB")
    ]
    assert wrong == []


def test_every_keystroke_behind_the_code_of_the_country_finds_a_number() -> None:
    """The code alone finds numbers of a country with a trunk prefix."""
    wrong = []
    for written in NUMBERS:
        rules = find_rules(written.region)
        is_trunk_dialled = rules.trunk and written.national.strip("(").startswith(rules.trunk)
        start = len(f"+{rules.code}") + (0 if is_trunk_dialled else 2)
        for end in range(start, len(written.international) + 1):
            typed = written.international[:end]
            if not finds(typed, written.national, written.region):
                wrong.append((written.region, typed, written.national))
    assert wrong == []


def test_what_is_dialled_before_a_number_may_be_typed_or_not() -> None:
    assert read_number("1-650-253-0000", "US") == ("6502530000",)
    assert list_meanings("1650", "US") == ["1650", "650"]
    assert list_meanings("011 81", "US") == ["01181", "81"]
    assert list_meanings("+7 81", "RU") == ["781", "781", "881"]


def test_most_national_forms_are_known_without_reading_the_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = [each for each in NUMBERS if find_rules(each.region).is_plain]
    quick = [read_number(each.national, each.region) for each in plain]
    monkeypatch.setattr(phones, "_is_own", lambda *_: False)
    read_number.cache_clear()
    assert quick == [read_number(each.national, each.region) for each in plain]
    assert len(plain) > 200
    assert find_rules("JP").is_plain
    assert not find_rules("AR").is_plain


def test_a_version_of_the_library_that_reads_numbers_differently_is_another_fold() -> None:
    """What is stored was read by the pinned version: see ADR 0178."""
    checksum = 0
    for written in NUMBERS:
        for text in written[1:]:
            for region in (written.region, "JP"):
                readings = compute_readings(text, TextRules("phone", region=region))
                checksum = zlib.crc32("/".join(readings).encode() + b"\0", checksum)
    assert checksum == 4_279_608_586
