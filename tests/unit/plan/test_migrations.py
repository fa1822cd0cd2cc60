"""Field migrations in the lock file: their numbers, what they may write, and when they may end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from daicho import migration
from daicho.errors import DeclarationError
from daicho.plan import Decisions, EntityPlan, FieldPlan, Ledger, MigrationPlan
from daicho.plan.changes import Effect, compare_ledgers
from daicho.plan.lockfile import append_generations, check_locked
from tests.support.sample_members import PLAIN, WITH_LIST

FIELDS = {name: FieldPlan("str", required=True) for name in ("id", "name", "team")}
GIVEN = {"given": FieldPlan("str", required=True)}
SPLIT = MigrationPlan("split", 0, ("given",))
MIGRATED = replace(PLAIN, migrations=(SPLIT,))
END = Decisions(disabled=frozenset({"Member.split"}))


def append(
    ledger: Ledger,
    plan: EntityPlan,
    fields: Mapping[str, FieldPlan] = FIELDS,
    decisions: Decisions = Decisions(),  # noqa: B008  # immutable
) -> Ledger:
    return append_generations([plan], ledger, decisions, {"Member": {**FIELDS, **fields}})


FIRST = append(Ledger(), PLAIN)
SECOND = append(FIRST, MIGRATED, GIVEN)


def test_a_migration_fills_a_required_field() -> None:
    with pytest.raises(DeclarationError, match="or fill it by a migration"):
        append(FIRST, WITH_LIST, GIVEN)
    literal = {"state": FieldPlan("str", required=True, literals=("a", "b"))}
    fewer = {"state": FieldPlan("str", required=True, literals=("a",))}
    ledger = append(Ledger(), PLAIN, literal)
    with pytest.raises(DeclarationError, match="no longer takes 'b'"):
        append(ledger, WITH_LIST, fewer)
    narrow = MigrationPlan("narrow", 0, ("state",))
    migrated = append(ledger, replace(PLAIN, migrations=(narrow,)), fewer)
    assert migrated.newest_generation("Member").plan.migrations == (replace(narrow, since=2),)


@pytest.mark.parametrize(
    ("migrations", "message"),
    [
        ([MigrationPlan("m", 0, ("other",))], r"Member\.m writes other, which is no field"),
        ([MigrationPlan("m", 0, ("name",))], r"Member\.m writes name, from which an earlier"),
        ([MigrationPlan("m", 0, ("id",))], r"Member\.m writes id, from which an earlier"),
        ([SPLIT, MigrationPlan("t", 0, ("given",))], r"Member\.t and Member\.split both write"),
    ],
)
def test_what_earlier_generations_read_is_not_migrated(
    migrations: list[MigrationPlan], message: str
) -> None:
    with pytest.raises(DeclarationError, match=message):
        optional = {"given": FieldPlan("str", required=False)}
        append(FIRST, replace(PLAIN, migrations=tuple(migrations)), optional)


def test_code_that_lacks_a_recorded_migration_is_refused() -> None:
    lost = r"Member\.split is a migration of generation 2, and its function is missing"
    fields = {"Member": {**FIELDS, **GIVEN}}
    with pytest.raises(DeclarationError, match=lost):
        check_locked([PLAIN], SECOND, fields)
    with pytest.raises(DeclarationError, match=lost):
        check_locked([WITH_LIST], SECOND, fields)
    with pytest.raises(DeclarationError, match=lost):
        append(SECOND, WITH_LIST, GIVEN)
    # Code that was rolled back does not have the field either.
    assert check_locked([PLAIN], SECOND, {"Member": FIELDS}).written == {"Member": 1}


def test_a_migration_ends_by_decision() -> None:
    with pytest.raises(DeclarationError, match=r"remove its function, then end it"):
        append(SECOND, MIGRATED, GIVEN, END)
    third = append(SECOND, PLAIN, GIVEN, END)
    assert third.newest_generation("Member").plan.migrations == ()
    (change,) = compare_ledgers(SECOND, third)
    assert (change.effect, change.old) == (Effect.MIGRATION_ENDED, 2)
    assert check_locked([PLAIN], third, {"Member": {**FIELDS, **GIVEN}}).written == {}


def test_a_migration_writes_something() -> None:
    wrong: Any
    for wrong in ("given", ()):
        with pytest.raises(DeclarationError, match="split writes no fields"):

            @migration("Member", writes=wrong)
            def split(member: Mapping[str, Any]) -> Mapping[str, Any]:
                return member
