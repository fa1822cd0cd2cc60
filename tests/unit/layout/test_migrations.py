"""Migrated images: which values a field migration may give, and which images need none."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.errors import UnmigratableError
from daicho.layout.migrations import read_migrated
from daicho.plan import EntityPlan, FieldPlan, Generation, KeyPlan, Ledger, Migration, MigrationPlan
from daicho.storage.attributes import from_image, to_image

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
