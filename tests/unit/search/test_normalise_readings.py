"""The readings of values and keywords: companies, phone numbers and plain texts."""

import pytest

from daicho.plan import TextKind, TextRules
from daicho.search.grams import Keyword, Mode, compute_forms
from daicho.search.normalise import ALL_RULES, compute_meanings, compute_readings


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
    assert compute_readings(value, TextRules("company")) == read


@pytest.mark.parametrize(
    ("keyword", "meant"),
    [
        ("03-1234", {"031234"}),
        ("+81 3", {"+813", "813", "03"}),
        ("03 tanaka", {"03tanaka"}),
        ("110番", {"110番"}),
        ("-", {"-"}),
        ("(株)デ", {"株デ", "株式会社デ"}),
        ("(株", {"株", "株式会社"}),
        ("株式会社", {"株式会社"}),
        ("inc.", {"inc"}),
        ("acme co., lt", {"acmecolt"}),
        ("jean-l", {"jeanl"}),
        ("c++", {"c++"}),
    ],
)
def test_what_a_keyword_may_mean(keyword: str, meant: set[str]) -> None:
    assert set(compute_meanings(keyword, ALL_RULES)) == meant


def test_a_keyword_means_only_what_the_kinds_of_values_can() -> None:
    assert compute_meanings("(株", [TextRules("text")]) == ("株",)
    assert compute_meanings("(株", [TextRules("company")]) == ("株", "株式会社")
    assert compute_meanings("+81", [TextRules("company")]) == ("+81",)
    assert compute_meanings("+81", [TextRules("phone")]) == ("+81", "81", "0")


def test_the_first_fold_reads_what_was_written_by_it() -> None:
    text, phone = TextRules("text", 1), TextRules("phone", 1)
    assert compute_readings("Jean-Luc", text) == ("jean-luc",)
    assert compute_meanings("c.", [text]) == ("c.",)
    assert compute_meanings("c.", [text, TextRules("company", 1)]) == ("c.", "c")
    assert compute_meanings("3.14", [phone]) == ("3.14", "314")
    assert compute_readings("+81 (0)3-1234-5678 内線 1", phone) == ("0312345678",)
    assert compute_readings("+44 20 7946 0018", phone) == ("442079460018",)
    assert compute_readings("unknown", phone) == ()


NAMED: list[tuple[str, TextKind, str]] = [
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
    ("Łódź", "text", "lodz"),
    ("Jean-Luc Picard", "text", "jean luc picard"),
    ("Jean Luc", "text", "jean-luc"),
    ("AC/DC", "text", "dc"),
    ("AC/DC", "text", "acdc"),
    ("O’Brien", "text", "o'brien"),
    ("O’Brien", "text", "obrien"),
    ("O'Brien", "text", "brien"),
    ("C++", "text", "C++"),
    ("+44 (0)20 7946 0018", "phone", "442079460018"),
    ("+44 (0)20 7946 0018", "phone", "020 7946 0018"),
]


@pytest.mark.parametrize(("value", "kind", "typed"), NAMED)
@pytest.mark.parametrize("mode", ["prefix", "contains"])
def test_every_keystroke_finds_it(value: str, kind: TextKind, typed: str, mode: Mode) -> None:
    readings = compute_readings(value, TextRules(kind))
    found = [form for text in readings for form in compute_forms(text, mode)]
    for end in range(1, len(typed) + 1):
        if typed[:end] not in ("(", "+", "+8"):  # nothing can know what these begin
            assert Keyword.parse(typed[:end]).matches(found), typed[:end]
