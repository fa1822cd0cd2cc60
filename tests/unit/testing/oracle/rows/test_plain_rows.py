"""The oracle's rows are those of the documentation, which it was written from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from daicho.plan import EntityPlan, KeyPlan, ListingPlan, Part, SearchPlan, TextKind, TextRules
from daicho.storage.attributes import to_image
from daicho.testing.oracle.rows.plain_grams import list_postings
from daicho.testing.oracle.rows.plain_rows import compute_plain_rows
from daicho.testing.oracle.rows.plain_texts import read_plainly

PAGE = (Path(__file__).parents[5] / "docs/reference/table-layout.md").read_text("utf-8")
CREATED = "2026-11-21T01:05:40.123456Z"
SONG = EntityPlan(
    "Song",
    {"id": "str", "title": "str", "artist": "str", "released": "int"},
    KeyPlan(("id",), ()),
    listings=(
        ListingPlan("of_artist", 1, (Part("artist"),), ("created_at",)),
        ListingPlan("of_year", 1, (Part("artist"), Part("released")), ("created_at",)),
        ListingPlan("titled", 1, (Part("title", folded=True),), ("created_at",)),
    ),
)
SEARCH = SearchPlan("search", 1, ("name",), (1, 2, 3, 5, 8), companies=("name",))
PHONES = SearchPlan("search", 1, ("name",), (1, 2, 3), (1, 2, 3, 4), phones=("name",))
INSIDE = SearchPlan("search", 1, ("name",), (1, 2), mode="contains")


def list_of(search: SearchPlan, name: str) -> set[tuple[str, ...]]:
    return list_postings(search, {"name": {"S": name}})


def test_rows_of_the_documented_example() -> None:
    documented = re.findall(r"^(acme#~Song#4#-) +(\S+) +(\S+) +2026-11-21T…Z(#4)$", PAGE, re.M)
    values = {"id": "4", "title": "Heroes", "artist": "1", "released": 1977, "created_at": CREATED}
    image = {"PK": {"S": "acme#Song#4"}, "SK": {"S": "-"}, **to_image(values)}
    rows = compute_plain_rows(SONG, image)
    assert len(rows) == 3
    assert {(*key, row.gsi2pk, row.gsi2sk.removeprefix(CREATED)) for key, row in rows.items()} == {
        *documented
    }


def test_postings_of_the_documented_examples() -> None:
    example = PAGE.partition("\n## Search postings\n")[2].partition("\n## ")[0]
    documented = re.findall(r"search#1#(\w+)#(\w*)(?:#(\w))?", example)
    postings = list_of(SEARCH, "Led Zeppelin") | list_of(SEARCH, "株式会社東京商事")
    assert len(documented) == 4
    assert {(gram, rest, *filter(None, (mark,))) for gram, rest, mark in documented} <= postings


@pytest.mark.parametrize(
    ("search", "name", "expected"),
    [
        (SEARCH, "", {("", "")}),
        (SEARCH, "ab a", {("", ""), ("a", ""), ("ab", ""), ("aba", "")}),
        (PHONES, "03-1", {("", ""), ("03", ""), ("031", "")}),
        (PHONES, "0", {("", ""), ("0", "")}),
        (PHONES, "8", {("", ""), ("8", "")}),
        (INSIDE, "ab", {("", ""), ("a", ""), ("b", ""), ("ab", "ab")}),
        (INSIDE, "株式", {("", ""), ("株", "株式"), ("式", "株式")}),
    ],
)
def test_postings(search: SearchPlan, name: str, expected: set[tuple[str, ...]]) -> None:
    assert list_of(search, name) == expected


@pytest.mark.parametrize(
    ("text", "kind", "readings"),
    [
        (" Ｌｅｄ\u3000Zéppelin ", "text", ["led zeppelin"]),
        ("ﾔﾏﾀﾞ やまだ", "text", ["ヤマダ ヤマダ"]),
        ("a\u0378E", "text", ["a\u0378e"]),
        ("㈱山田", "company", ["株式会社 山田", "山田"]),
        ("Acme Co.,Ltd.", "company", ["acme co ltd", "acme"]),
        ("A.B. Inc", "company", ["ab inc", "ab"]),
        ("+81 (0)3-12 内線 4", "phone", ["0312"]),
        ("+1 3", "phone", ["13"]),
        ("-", "phone", []),
        ("Łódź O’Brien", "text", ["lodz o brien"]),
        ("C++ at&t #1", "text", ["c++ at& t # 1"]),
        ("مؤمـن ٠٣", "text", ["مومن 03"]),
        ("+44 (0)20 7946 0018", "phone", ["02079460018", "442079460018"]),
        ("0044 20 7946 0018", "phone", ["02079460018", "442079460018"]),
        ("+81 3-1234-5678", "phone", ["0312345678"]),
    ],
)
def test_readings(text: str, kind: TextKind, readings: list[str]) -> None:
    assert list(read_plainly(text, TextRules(kind))) == readings


def test_the_first_fold_is_read_too() -> None:
    assert read_plainly("Łódź O’Brien", TextRules("text", 1)) == ("łodz o’brien",)
    assert read_plainly("+81 (0)3-12 内線 4", TextRules("phone", 1)) == ("0312",)
