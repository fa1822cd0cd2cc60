"""Cached keys and short cuts of numbers: equal to a plain computation that shares no code."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daicho.derive.contributions import Amount, compute_contributions, sum_amounts
from daicho.layout import item_keys
from daicho.plan import AggregatePlan, EntityPlan, KeyPlan, ListingPlan, Part
from daicho.storage import attributes, keys
from daicho.storage.keys import KeyTooLongError

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80
) | st.sampled_from(
    ["1", "01", "1.0", "true", "a#b", "a$23b", "é", "é", "\U0001f600" * 70, "x" * 2_000, "#" * 900]
)
NUMBERS = st.integers(-(10**20), 10**20).map(str) | st.decimals(
    allow_nan=False, allow_infinity=False, places=10, min_value=-(10**20), max_value=10**20
).map(str)
SUM = AggregatePlan("sum", 2, "sum", "n", (Part("by"),), (Part("within"),))
PLAN = EntityPlan(
    "Sale",
    {"id": "str", "by": "str", "within": "str", "n": "decimal"},
    KeyPlan(("id",), ()),
    aggregates=(SUM,),
)


def escape_plainly(text: str) -> str:
    return "".join(f"${ord(c):02X}" if ord(c) <= 0x24 else c for c in text)


def render_plainly(*parts: str) -> str:
    return "#".join(map(escape_plainly, parts))


def is_refused(tenant: str, within: str, by: str) -> bool:
    partition = render_plainly(tenant, "+Sale.sum", "2", within, by)
    return len(partition.encode()) > 2048 or 30 + len(escape_plainly(by).encode()) > 1024


@pytest.fixture(autouse=True)
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches of three entries: nearly every example evicts what an earlier one needs again."""
    monkeypatch.setattr(keys, "_escape_short", lru_cache(3)(keys._escape))
    small = lru_cache(3)(item_keys._render_group_tally)
    monkeypatch.setattr(item_keys, "_render_short_group_tally", small)
    heads = lru_cache(3, typed=True)(item_keys._render_head.__wrapped__)
    monkeypatch.setattr(item_keys, "_render_head", heads)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=8))
def test_keys_of_tallies(groups: list[tuple[str, str, str]]) -> None:
    for tenant, within, by in [*groups, *groups[::-1]]:
        if is_refused(tenant, within, by):
            with pytest.raises(KeyTooLongError):
                item_keys.render_group_tally(tenant, PLAN, SUM, (within,), (by,))
        else:
            tally = item_keys.render_group_tally(tenant, PLAN, SUM, (within,), (by,))
            assert tally == render_plainly(tenant, "+Sale.sum", "2", within, by)


@given(TEXTS, TEXTS, TEXTS)
def test_parts_do_not_move_between_the_ranking_and_its_members(a: str, b: str, c: str) -> None:
    """The same texts, divided otherwise: a cache by their concatenation would mix them up."""
    if not is_refused("t", a, b) and not is_refused("t", a, c):
        one = item_keys.render_group_tally("t", PLAN, SUM, (a,), (b,))
        other = item_keys.render_group_tally("t", PLAN, SUM, (a,), (c,))
        assert (one == other) == (b == c)


@given(st.lists(st.tuples(TEXTS, TEXTS, st.integers(1, 3)), min_size=1, max_size=8))
def test_keys_of_listings(declarations: list[tuple[str, str, int]]) -> None:
    for tenant, group, since in [*declarations, *declarations[::-1]]:
        listing = ListingPlan("by", since, (Part("by"),), ("id",))
        (sort_key,) = item_keys.render_derived_sort_keys(listing, [(group,)])
        assert sort_key == render_plainly("by", str(since), group)
        (partition,) = item_keys.render_listing_lists(tenant, PLAN, listing, [((group,), 0)])
        assert partition == render_plainly(tenant, "Sale.by", str(since), group)


@given(TEXTS)
def test_first_part_of_a_key(tenant: str) -> None:
    assert keys.parse_first(f"{escape_plainly(tenant)}#Sale#x") == tenant


@given(NUMBERS)
def test_a_measured_value_is_taken_if_it_has_19_digits_and_9_places(number: str) -> None:
    value = Fraction(number)
    is_taken = (value * 10**9).denominator == 1 and abs(value * 10**9) < 10**28
    image = {
        "PK": {"S": "acme#Sale#x"},
        "SK": {"S": "-"},
        "by": {"S": "b"},
        "within": {"S": "w"},
        "n": {"N": number},
    }
    if is_taken:
        (amount,) = compute_contributions(PLAN, image).values()
        assert (amount.items, Fraction(amount.total)) == (1, value)
    else:
        with pytest.raises(ValueError, match="19 digits"):
            compute_contributions(PLAN, image)


@given(st.lists(NUMBERS, max_size=40))
def test_sums_are_exact(numbers: list[str]) -> None:
    total = sum_amounts(Amount(1, Decimal(number)) for number in numbers)
    assert total.items == len(numbers)
    assert Fraction(total.total) == sum(map(Fraction, numbers))


@given(st.integers(-(10**38) + 1, 10**38 - 1))
def test_whole_numbers_are_written_digit_by_digit(value: int) -> None:
    assert attributes.to_value(value) == {"N": f"{value}"}
    assert attributes.to_value(Decimal(value)) == {"N": f"{value}"}
    assert attributes.get_integer({"n": {"N": f"{value}"}}, "n") == value


@given(st.integers(-(30 * 10**9), 250 * 10**9), st.integers(0, 999_999), st.integers(-840, 840))
def test_instants_are_rendered_in_utc(second: int, microsecond: int, minutes: int) -> None:
    utc = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(0, second, microsecond)
    date = f"{utc.year:04d}-{utc.month:02d}-{utc.day:02d}"
    time = f"{utc.hour:02d}:{utc.minute:02d}:{utc.second:02d}.{utc.microsecond:06d}"
    local = utc.astimezone(dt.timezone(dt.timedelta(minutes=minutes)))
    assert keys.render_instant(local) == f"{date}T{time}Z"
