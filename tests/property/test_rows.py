"""Rows and amounts that are derived equal the oracle's, which shares no code with them.

Broken on purpose before it was trusted: each fault of the rule ``rows`` in
`tests/delivery/mutants/planted.toml` fails one of these tests.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daicho.derive.contributions import compute_contributions
from daicho.derive.derived_items import compute_index_rows
from daicho.layout.item_keys import build_base_key
from daicho.plan import (
    AggregatePlan,
    Condition,
    EntityPlan,
    KeyPlan,
    ListingPlan,
    Part,
    RetiringPlan,
    SearchPlan,
    TextKind,
    TextRules,
)
from daicho.plan.calendar import CalendarUnit
from daicho.plan.figures.figure_plans import FigureKind, FigurePlan
from daicho.search.normalise import compute_readings, fold
from daicho.search.unicode14 import is_assigned
from daicho.storage import keys
from daicho.storage.attributes import Image, to_image
from daicho.testing.oracle.rows import plain_keys
from daicho.testing.oracle.rows.plain_amounts import compute_plain_amounts
from daicho.testing.oracle.rows.plain_rows import compute_plain_rows, list_all_declarations
from daicho.testing.oracle.rows.plain_texts import fold_plainly, is_in_unicode_14, read_plainly

FIELDS = {
    **{"area": "str", "id": "str", "code": "str", "rank": "int", "done": "bool", "on": "date"},
    **{"at": "datetime", "tags": "set[str]", "price": "decimal", "size": "int"},
    **{"name": "str", "company": "str", "phone": "str"},
}
WORDS = (
    *("a", "Ab", "abcdefghi", "Ａ", "É", "e\u0301", "ß", "İ", "ﬁ", "Ω", "a\u0378\u0301", "x" * 70),
    *(
        "山田",
        "やまだ",
        "ﾔﾏﾀﾞ",
        "か\u3099",
        "ゝ",
        "ー",
        "ヤマダショウテン",
        "#",
        "$",
        "\x00",
        "\U0001f600",
    ),
    *("Łódź", "ørsted", "ıİ", "O’Brien", "jean‐luc", "ac/dc", "ze\u00adro", "at&t", "C#", "c++"),
    *("שָׁלוֹם", "مؤمـن", "إسلام", "ة", "٠٣", "१२", "´", "．", "&&a", "a- -b", "\u200bx", "ʻokina"),
)
NAMED = (
    "(株)",
    "㈱",
    "株式会社",
    "株式",
    "(有",
    "有限会社",
    "合同会",
    "社団法人",
    "団法人",
    "式会",
)
FORMS = ("Inc.", "co", "Co.,", "ltd", "Ltd.,", "l.l.c.", "k.k", "corp", "company", "incx", ".", ",")
NUMBERED = (
    *("+81", "+ 81-", "(0)", "0", "03", "12", "8", "ext", "内線", "x", "-", "1" * 9, "(", "٠"),
    *("+44 ", "0044", "010", "20 7946 0018", "+7", "812 345-67-89", "1-650-253-0000", "(0"),
    *("+54 9 11 2345 6789", "03-1234-5678", "090 1234 5678", "+1 650 253 0000"),
)
REGIONS = ("JP", "GB", "US", "RU", "AR", "IT", "HU")
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
CHARACTERS = st.characters(exclude_categories=["Cs"])
NAMES = st.lists(st.sampled_from((*WORDS, " ", "\u3000")), max_size=4).map("".join)
COMPANIES = st.lists(st.sampled_from((*NAMED, *FORMS, "a", "山", " ", " ")), max_size=5).map(
    "".join
)
PHONES = st.lists(st.sampled_from((*NUMBERED, " ", "a")), max_size=4).map("".join)
TEXTS = st.one_of(NAMES, COMPANIES, PHONES, st.text(CHARACTERS, max_size=8))
CODES = st.text(st.sampled_from("ab #$%é\x00台"), min_size=1, max_size=3)
WHOLE = st.integers(-12, 12) | st.sampled_from([10**19 - 1, 1 - 10**19])
PRICES = st.decimals(-1000, 1000, places=9) | st.sampled_from([0, 10**19 - 1, 1 - 10**19])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **{"area": CODES, "id": CODES, "code": CODES, "rank": WHOLE, "done": st.booleans()},
    "on": st.dates(dt.date(2026, 10, 1), dt.date(2027, 1, 9)),
    "at": st.integers(-(10**13), 3 * 10**13).map(lambda us: NOON + dt.timedelta(microseconds=us)),
    **{
        "tags": st.just({"a", "b#"}) | st.sets(CODES, max_size=3),
        "price": PRICES,
        "size": st.integers(-9, 9),
    },
    **{"name": NAMES, "company": COMPANIES, "phone": PHONES},
}
KEYS = st.sampled_from(
    (KeyPlan(("id",), ()), KeyPlan(("area",), ("id",)), KeyPlan(("area", "rank"), ("done", "id")))
)
KEY_FIELDS = ("area", "id", "rank", "done")
MEASURES: tuple[FigureKind, ...] = ("sum", "mean", "min", "max")
UNITS: tuple[CalendarUnit, ...] = ("hour", "day", "week", "month", "quarter", "year")
ZONES = ("UTC", "Asia/Tokyo", "Australia/Lord_Howe", "America/New_York")
BUCKETS = st.builds(
    lambda unit, zone, first: Part("at", unit, zone=zone, first_weekday=first),
    st.sampled_from(UNITS),
    st.sampled_from(ZONES),
    st.integers(0, 6),
)
PARTS = BUCKETS | st.sampled_from(
    (
        *(Part(name) for name in ("code", "rank", "done", "on", "at", "name")),
        *(Part("name", folded=True), Part("name", folded=True, fold_version=2)),
        *(*(2 * (Part("tags", each=True),)), Part("on", "week")),
    )
)
GROUPS = PARTS | st.just(Part("price", edges=("-1", "0", "2.5")))
WHERE = st.none() | st.sampled_from(
    (Condition("done", ("false",)), Condition("code", ("a", "b", "#")), Condition("name", ("",)))
)
FIGURES = st.sampled_from(
    (
        *(FigurePlan("percentiles", field, ("-2", "0", "1.5")) for field in ("size", "price")),
        *(FigurePlan(kind, field) for kind in MEASURES for field in ("size", "price")),
        *(FigurePlan("count"), FigurePlan("variance", "size")),
    )
)
RANKED: tuple[tuple[Literal["count", "sum"], str | None], ...]
RANKED = (("count", None), ("sum", "price"), ("sum", "rank"))
SINCE, SHARDS = st.integers(1, 12), st.integers(1, 3)
STEPS: dict[str, tuple[tuple[tuple[int, ...], ...], ...]] = {
    "prefix": (
        ((1, 2, 3, 5, 8), (1, 2), (1, 3)),
        ((), (1, 2, 3, 4, 5, 6, 8), (1, 3)),
        ((), (1, 4)),
    ),
    "contains": (((1, 2), (1, 2, 3)), ((), (1, 2, 3, 4)), ((),)),
}


@st.composite
def searches(draw: st.DrawFn, name: str) -> SearchPlan:
    mode: Literal["prefix", "contains"] = draw(st.sampled_from(("prefix", "contains")))
    steps, digits, kana = (draw(st.sampled_from(lengths)) for lengths in STEPS[mode])
    fields = tuple(draw(st.permutations(("name", "company", "phone")))[: draw(st.integers(1, 3))])
    companies, phones = (tuple(draw(st.sets(st.sampled_from(fields)))) for _ in range(2))
    shards = draw(SHARDS)
    is_first = draw(st.booleans())
    regions = () if is_first else tuple(draw(st.sampled_from(REGIONS)) for _ in phones)
    return SearchPlan(
        *(name, draw(SINCE), fields, steps, digits, kana, shards, mode, companies, phones),
        fold_version=1 if is_first else 2,
        regions=regions,
    )


@st.composite
def listings(draw: st.DrawFn, name: str) -> ListingPlan:
    orders = st.permutations(("created_at", "rank", "at", "on", "done", "code"))
    return ListingPlan(
        name,
        draw(SINCE),
        tuple(draw(st.lists(PARTS, max_size=2))),
        tuple(draw(orders)[: draw(st.integers(1, 2))]),
        draw(WHERE),
        draw(SHARDS),
        tuple(draw(st.sets(st.sampled_from((*FIELDS, "note", "version"))))),
    )


@st.composite
def aggregates(draw: st.DrawFn, name: str) -> AggregatePlan:
    measure, field = draw(st.sampled_from(RANKED))
    by, within = (tuple(draw(st.lists(GROUPS, max_size=1))) for _ in range(2))
    return AggregatePlan(
        name,
        draw(SINCE),
        measure,
        field,
        by,
        within,
        where=draw(WHERE),
        figures=tuple(draw(st.lists(FIGURES, max_size=4))),
        series=draw(st.none() | BUCKETS),
    )


@st.composite
def plans(draw: st.DrawFn) -> EntityPlan:
    def draw_few(strategy: st.SearchStrategy[Any]) -> tuple[Any, ...]:
        return tuple(draw(st.lists(strategy, max_size=1)))

    prefix = draw(st.sampled_from(("", "#")))
    return EntityPlan(
        "Firm",
        FIELDS,
        draw(KEYS),
        (draw(searches(f"{prefix}search")),),
        (draw(listings(f"{prefix}listing")), draw(listings(f"{prefix}other"))),
        (draw(aggregates(f"{prefix}figure")),),
        retiring=RetiringPlan(
            draw_few(searches("old search")),
            draw_few(listings("old listing")),
            draw_few(aggregates("old figure")),
        ),
    )


@st.composite
def images(draw: st.DrawFn, plan: EntityPlan) -> Image:
    values = {
        name: draw(strategy)
        for name, strategy in VALUES.items()
        if name in KEY_FIELDS or draw(st.integers(0, 4))
    }
    content = to_image({**values, "created_at": "2026-11-21T01:05:40.123456Z", "version": 3})
    more: Image = draw(st.sampled_from(({}, {"ttl": {"N": "1700"}}, {"note": {"NULL": True}})))
    key = build_base_key(draw(st.sampled_from(("t", "a#$"))), plan, content)
    return {"PK": {"S": key.pk}, "SK": {"S": key.sk}, **content, **more}


PLANNED = plans().flatmap(lambda plan: st.tuples(st.just(plan), images(plan)))


@given(PLANNED)
def test_rows_are_those_of_the_oracle(planned: tuple[EntityPlan, Image]) -> None:
    plan, image = planned
    rows = compute_plain_rows(plan, image)
    assert compute_index_rows(plan, image) == rows
    instances = [(each.name, each.since) for each in list_all_declarations(plan)]
    of_each = [compute_plain_rows(plan, image, instance) for instance in instances]
    assert {key: row for rows in of_each for key, row in rows.items()} == rows


@given(PLANNED)
def test_amounts_are_those_of_the_oracle(planned: tuple[EntityPlan, Image]) -> None:
    assert compute_contributions(*planned) == compute_plain_amounts(*planned)


RULES = st.builds(
    TextRules,
    st.sampled_from(get_args(TextKind)),
    st.sampled_from((1, 2)),
    st.sampled_from(REGIONS),
)


@settings(max_examples=settings().max_examples)
@given(TEXTS, RULES)
def test_texts_are_read_as_the_oracle_reads_them(text: str, rules: TextRules) -> None:
    assert fold(text, rules.fold) == fold_plainly(text, rules.fold)
    assert compute_readings(text, rules) == read_plainly(text, rules)


ALIKE = (*range(0x3400, 0xA000), *range(0xAC00, 0xD7A4), *range(0xE000, 0xF900))
"""Ideographs, Hangul and private characters, of which the oracle reads only every 97th."""


@pytest.mark.lengthy
@pytest.mark.parametrize("version", [1, 2])
def test_each_character_is_read_as_the_oracle_reads_it(version: int) -> None:
    codes = {*range(0x20000), *range(0xE0000, 0xE0200)} - {*ALIKE, *range(0xD800, 0xE000)}
    rules = TextRules(fold=version)
    texts = [f"a{chr(code)}b" for code in (*codes, *ALIKE[::97]) if is_assigned(chr(code))]
    assert len(texts) > 40_000
    wrong = [text for text in texts if compute_readings(text, rules) != read_plainly(text, rules)]
    assert wrong == []


@given(st.lists(st.text(CHARACTERS, max_size=4), min_size=1), st.integers(2, 40))
def test_keys_are_those_of_the_oracle(parts: list[str], shards: int) -> None:
    key = plain_keys.join_parts(parts)
    assert key == keys.render(*parts)
    assert plain_keys.split_parts(key) == parts
    assert plain_keys.compute_shard(shards, parts) == keys.compute_shard(shards, *parts)


def test_code_points_of_unicode_14_are_those_of_the_oracle() -> None:
    """On every Python: the oracle knows what later versions of Unicode assign."""
    characters = map(chr, range(0x110000))
    assert [c for c in characters if is_assigned(c) != is_in_unicode_14(c)] == []
