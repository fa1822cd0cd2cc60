"""Migrated images: which values a field migration may give, and which images need none."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from daicho.layout.migrations import UnmigratableError, migrate_image, read_migrated
from daicho.plan import EntityPlan, FieldPlan, Generation, KeyPlan, Ledger, Migration, MigrationPlan
from daicho.storage.attributes import from_image, to_image
from daicho.storage.scales import SCALES, read_scales, to_scales_value

OLD = to_image({"PK": "t#Thing#1", "SK": "-", "type": "Thing", "gen": 1, "version": 3, "id": "1"})
KINDS = {"text": "str", "count": "int", "price": "decimal", "day": "date", "at": "datetime"}
KINDS |= {"tags": "set", "is_new": "bool", "more": "json", "id": "str"}


def make_ledger(function: Any, *, required: bool = False, **literals: tuple[Any, ...]) -> Ledger:
    """A ledger of two generations; the second one has a migration of all fields but the key."""
    names = tuple(name for name in KINDS if name != "id")
    fields = {
        name: FieldPlan(kind, required, literals=literals.get(name, ()))
        for name, kind in KINDS.items()
    }
    plain = EntityPlan("Thing", {"id": "str"}, KeyPlan(("id",), ()))
    migrated = EntityPlan(
        "Thing", {"id": "str"}, KeyPlan(("id",), ()), migrations=(MigrationPlan("fill", 2, names),)
    )
    functions = {"Thing.fill": Migration("Thing", "fill", names, function)}
    return Ledger(
        {"Thing": (Generation(1, plain), Generation(2, migrated))},
        fields={"Thing": fields},
        functions=functions,
    )


def fill(**values: Any) -> dict[str, Any]:
    """What an old item is after a migration that gives these values."""
    return from_image(read_migrated(make_ledger(lambda item: values), "Thing", OLD))


def test_values_of_all_kinds_are_stored_as_a_write_stores_them() -> None:
    values = {"text": "a", "count": 2, "price": 3, "day": "2026-11-23", "tags": {"b"}}
    values |= {"at": "2026-11-23T12:00:00.000000Z", "is_new": False, "more": {"a": [1]}}
    migrated = fill(**values)
    assert {**from_image(OLD), **values, "gen": 2} == migrated
    assert fill(text=None, tags=set()) == {**from_image(OLD), "gen": 2}


@pytest.mark.parametrize(
    "values",
    [
        {"text": 1},
        {"count": 1.5},
        {"count": "1"},
        {"price": True},
        {"day": "2026-11-3"},
        {"day": "20261103"},
        {"at": "2026-11-23T12:00:00Z"},
        {"at": "2026-11-23"},
        {"tags": ["a"]},
        {"is_new": 1},
    ],
)
def test_a_value_that_its_field_does_not_take_is_refused(values: dict[str, Any]) -> None:
    (name,) = values
    with pytest.raises(UnmigratableError, match=rf"Thing\.{name} of t#Thing#1 - is no"):
        fill(**values)


def test_a_result_that_cannot_be_stored_names_the_item() -> None:
    with pytest.raises(UnmigratableError, match=r"Thing\.fill returns other, not in its writes="):
        fill(other=1)
    with pytest.raises(UnmigratableError, match=r"Thing\.fill fails for t#Thing#1 -: TypeError"):
        fill(more=object())
    with pytest.raises(UnmigratableError, match="KeyError"):
        read_migrated(make_ledger(lambda item: item["none"]), "Thing", OLD)
    with pytest.raises(UnmigratableError, match="is required, and its migration gives no value"):
        read_migrated(make_ledger(lambda item: {}, required=True), "Thing", OLD)
    with pytest.raises(UnmigratableError, match="which is no value of its Literal"):
        read_migrated(make_ledger(lambda item: {"text": "c"}, text=("a",)), "Thing", OLD)


def test_only_older_images_are_migrated() -> None:
    ledger = make_ledger(lambda item: {"text": "a"})
    new = {**OLD, "gen": {"N": "2"}}
    part = {name: value for name, value in OLD.items() if name != "gen"}
    assert read_migrated(ledger, "Thing", new) is new
    assert read_migrated(ledger, "Thing", part) is part
    assert read_migrated(ledger, "Other", OLD) is OLD
    assert migrate_image(ledger, "Thing", OLD, ledger.list_generations("Thing")[0]) is OLD


def test_a_function_gets_the_fields_alone() -> None:
    def check(item: Mapping[str, Any]) -> Mapping[str, Any]:
        assert set(item) == {"id", "created_at", "text"}
        return {}

    own = to_image({"created_at": "2026-11-23T12:00:00.000000Z", "text": "a", "_mark": "b"})
    read_migrated(make_ledger(check), "Thing", {**OLD, **own})


def test_a_migration_reads_what_earlier_ones_wrote() -> None:
    ledger = make_ledger(lambda item: {"text": "a"})
    first, second = ledger.list_generations("Thing")
    third = MigrationPlan("more", 3, ("count",))
    plan = EntityPlan(
        "Thing",
        {"id": "str"},
        KeyPlan(("id",), ()),
        migrations=(third, *second.plan.migrations),
    )
    more = Migration("Thing", "more", ("count",), lambda item: {"count": len(item["text"])})
    ledger = Ledger(
        {"Thing": (first, second, Generation(3, plan))},
        fields=ledger.fields,
        functions={**ledger.functions, "Thing.more": more},
    )
    assert from_image(read_migrated(ledger, "Thing", OLD))["count"] == 1
    with pytest.raises(UnmigratableError, match="KeyError"):  # it is of generation 2 already
        read_migrated(ledger, "Thing", {**OLD, "gen": {"N": "2"}})


def test_decimals_keep_their_scale() -> None:
    given = []

    def halve(item: Mapping[str, Any]) -> dict[str, Any]:
        given.append(item["price"])
        return {"price": item["price"] / 2, "more": {"tax": Decimal("0.10")}}

    scales = to_scales_value({"price": 2, "text/0": 3})
    old = {**OLD, "price": {"N": "7"}, SCALES: scales}
    migrated = read_migrated(make_ledger(halve), "Thing", old)
    assert str(given[0]) == "7.00"
    assert migrated["price"] == {"N": "3.50"}
    assert read_scales(migrated) == {"price": 2, "more/tax": 2, "text/0": 3}
    plain = read_migrated(make_ledger(lambda item: {"price": Decimal("3.5")}), "Thing", old)
    assert read_scales(plain) == {"text/0": 3}, "none that belongs to the value of before"
