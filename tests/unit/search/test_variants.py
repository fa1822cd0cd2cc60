"""The readings of values and keywords: companies, phone numbers and plain texts."""

import pytest

from daicho.search.grams import Mode, compute_forms
from daicho.search.keyword import Keyword
from daicho.search.variants import KINDS, Kind, compute_meanings, compute_readings


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("株式会社デンソー", ("株式会社 デンソー", "デンソー")),
        ("(株)デンソー", ("株式会社 デンソー", "デンソー")),
        ("㈱ﾃﾞﾝｿｰ", ("株式会社 デンソー", "デンソー")),
        ("デンソー（株）", ("デンソー 株式会社", "デンソー")),
        ("㈲ヤマダ", ("有限会社 ヤマダ", "ヤマダ")),
        ("Acme, Inc.", ("acme inc", "acme")),
        ("ACME INC", ("acme inc", "acme")),
        ("Acme Co., Ltd.", ("acme co ltd", "acme")),
        ("Acme CO.,LTD", ("acme co ltd", "acme")),
        ("Acme L.L.C.", ("acme llc", "acme")),
        ("Ford Motor Company", ("ford motor company", "ford motor")),
        ("Incline Co", ("incline co", "incline")),
        ("株式会社", ("株式会社",)),
        ("Inc.", ("inc",)),
        ("", ()),
    ],
)
def test_a_company_is_read_with_its_designator_and_without(
    value: str, read: tuple[str, ...]
) -> None:
    assert compute_readings(value, "company") == read


@pytest.mark.parametrize(
    "value",
    [
        "03-1234-5678",
        "0312345678",
        "+81 3 1234 5678",
        "+81-(0)3-1234-5678",
        "＋８１（０）３ー１２３４−５６７８",
        "(03) 1234 5678",
        "03.1234.5678 内線 12",
        "03-1234-5678 ext. 12",
        "03-1234-5678x12",
        "03-1234-5678#9",
    ],
)
def test_a_phone_number_is_its_digits_as_dialled_at_home(value: str) -> None:
    assert compute_readings(value, "phone") == ("0312345678",)


def test_numbers_of_other_countries_keep_their_code() -> None:
    assert compute_readings("+1 650 253 0000", "phone") == ("16502530000",)
    assert compute_readings("unknown", "phone") == ()


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [
        ("03-1234", {"03-1234", "031234"}),
        ("+81 3", {"+813", "03"}),
        ("03 tanaka", {"03tanaka"}),
        ("110番", {"110番"}),
        ("-", {"-"}),
        ("(株)デ", {"(株)デ", "株式会社デ"}),
        ("(株", {"(株", "株式会社"}),
        ("株式会社", {"株式会社"}),
        ("inc.", {"inc.", "inc"}),
        ("acme co., lt", {"acmeco.,lt", "acmecolt"}),
    ],
)
def test_what_a_keyword_may_mean(keyword: str, meant: set[str]) -> None:
    assert set(compute_meanings(keyword, KINDS)) == meant


def test_a_keyword_means_only_what_the_kinds_of_values_can() -> None:
    assert compute_meanings("c.", ["text"]) == ("c.",)
    assert compute_meanings("c.", ["text", "company"]) == ("c.", "c")
    assert compute_meanings("3.14", ["company"]) == ("3.14",)
    assert compute_meanings("3.14", ["phone"]) == ("3.14", "314")


NAMED: list[tuple[str, Kind, str]] = [
    ("株式会社山田商店", "company", "山田"),
    ("㈱山田商店", "company", "(株)山田"),
    ("㈱山田商店", "company", "株式会社山田商店"),
    ("(株)山田商店", "company", "㈱"),
    ("山田商店 株式会社", "company", "株式会社"),
    ("Acme Co., Ltd.", "company", "Acme Co., Ltd."),
    ("Acme Inc.", "company", "ACME, Inc"),
    ("A.B.C. Foods", "company", "A.B.C. Foods"),
    ("+81-90-1234-5678", "phone", "090-1234-5678"),
    ("09012345678", "phone", "+81 90 1234 5678"),
    ("はなこ", "text", "ﾊﾅｺ"),
    ("Straße 1", "text", "STRASSE 1"),
    ("İstanbul", "text", "istanbul"),
    ("José", "text", "JOSE\u0301"),
    ("a#b$c##", "text", "A#B$C##"),
]


@pytest.mark.parametrize(("value", "kind", "typed"), NAMED)
@pytest.mark.parametrize("mode", ["prefix", "contains"])
def test_every_keystroke_finds_it(value: str, kind: Kind, typed: str, mode: Mode) -> None:
    found = [form for text in compute_readings(value, kind) for form in compute_forms(text, mode)]
    for end in range(1, len(typed) + 1):
        if typed[:end] not in ("(", "+", "+8"):  # nothing can know what these begin
            assert Keyword.parse(typed[:end]).matches(found), typed[:end]
