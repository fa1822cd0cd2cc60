"""Touches that write more than a generation: their conditions, and which items get none."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from daicho.layout.marks import is_dismissed, mark_dismissed
from daicho.plan import (
    Condition,
    EntityPlan,
    ExpiryPlan,
    FieldPlan,
    Generation,
    Ledger,
    Migration,
    MigrationPlan,
    UniquePlan,
)
from daicho.rebuild.item_touch import ObstacleError, Touch, plan_touch
from daicho.rebuild.stack_jobs import StackJobs
from daicho.runtime.settings import Settings
from daicho.storage.attributes import Image, get_key, to_image
from tests.support.memory_stores import MemoryTable
from tests.support.sample_members import PLAIN

NOW = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
CREATED = "2026-11-21T01:05:40.000000Z"
IMAGE = to_image(
    {
        **{"PK": "t#Member#1", "SK": "-", "type": "Member", "gen": 1, "version": 4},
        **{"id": "1", "name": "Ada", "created_at": CREATED},
    }
)
COUNTER = itertools.count()
WEEK = ExpiryPlan(7 * 86_400, archive=False)


def make_ledger(function: Any = None, **changes: Any) -> Ledger:
    """A ledger of two generations; the second one has a migration if there is a function."""
    first: EntityPlan = replace(PLAIN, expires=changes.pop("before", None))
    migrations = (MigrationPlan("fill", 2, ("label",)),) if function else ()
    second = replace(first, migrations=migrations, **changes)
    fill = Migration("Member", "fill", ("label",), function)
    return Ledger(
        {"Member": (Generation(1, first), Generation(2, second))},
        fields={"Member": {n: FieldPlan("str", required=False) for n in ("id", "name", "label")}},
        functions={fill.id: fill},
    )


def write_label(member: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"label": member["name"].upper()}


def touch(ledger: Ledger, image: Image = IMAGE) -> Touch:
    return plan_touch(ledger, image, 2, NOW)


def test_an_item_without_the_value_is_touched_as_it_was_read() -> None:
    """Older code may give it a value before the touch, and would reserve nothing."""
    unique = UniquePlan("one_label", 2, ("label",))
    ledger = make_ledger(uniques=(unique,), fields={**PLAIN.fields, "label": "str"})
    table = MemoryTable()
    planned = touch(ledger)
    assert not planned.reserved
    table.put({**IMAGE, "label": {"S": "taken"}, "version": {"N": "5"}})
    assert not planned.send(table)


@pytest.mark.parametrize(
    "changed",
    [
        {"version": {"N": "5"}},
        {"gen": {"N": "0"}},
        {"created_at": {"S": "2026-11-22T00:00:00.000000Z"}},
        {"ttl": {"N": "99999999999"}},
        None,
    ],
)
@pytest.mark.parametrize("function", [write_label, lambda _: {}])
def test_a_touch_with_values_needs_the_image_that_was_read(
    changed: Image | None, function: Any
) -> None:
    """Also if the migration changes nothing of the image that was read."""
    table = MemoryTable()
    table.batch_write([{**IMAGE, **changed}] if changed is not None else [])
    assert not touch(make_ledger(function)).send(table)
    table.batch_write([IMAGE])
    assert touch(make_ledger(function)).send(table)
    label = {"label": {"S": "ADA"}} if function is write_label else {}
    assert table.get(get_key(IMAGE)) == {**IMAGE, "gen": {"N": "2"}, **label}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda m: {"label": str(next(COUNTER))}, "when it is repeated"),
        (lambda m: {"label": m.get("label", "") + "x"}, "when it is repeated"),
        (lambda m: {"label": "x" * 410_000}, "over 409600 bytes"),
        (lambda m: {"label": m["none"]}, "UnmigratableError: Member.fill fails"),
    ],
)
def test_an_item_whose_migration_is_wrong_is_left(function: Any, message: str) -> None:
    with pytest.raises(ObstacleError, match=message):
        touch(make_ledger(function))


def test_a_dismissed_item_keeps_a_valid_mark_while_it_cannot_be_derived() -> None:
    bad = mark_dismissed({**IMAGE, "name": {"N": "1"}})
    table = MemoryTable()
    table.batch_write([bad])
    assert touch(make_ledger(), bad).send(table)
    touched = table.items[get_key(IMAGE)]
    assert (touched["gen"], is_dismissed(touched)) == ({"N": "2"}, True)
    assert touched["_dismissed"] != bad["_dismissed"]


@pytest.mark.parametrize("function", [None, write_label])
def test_a_dismissed_item_loses_its_mark_when_it_can_be_derived(function: Any) -> None:
    marked = mark_dismissed(IMAGE)
    table = MemoryTable()
    table.batch_write([marked])
    assert touch(make_ledger(function), marked).send(table)
    assert "_dismissed" not in table.items[get_key(IMAGE)]


def test_a_dismissed_item_that_was_edited_is_touched_as_any_other() -> None:
    edited = {**mark_dismissed({**IMAGE, "name": {"N": "1"}}), "more": {"S": "x"}}
    with pytest.raises(ObstacleError):
        touch(make_ledger(), edited)


VOID = ExpiryPlan(3_600, archive=False, of="due", where=Condition("label", ("void",)))
DUE = {"label": {"S": "void"}, "due": {"S": "2026-11-23"}}
ENDS = int(dt.datetime(2026, 11, 23, 1, tzinfo=dt.UTC).timestamp())


@pytest.mark.parametrize(
    ("before", "after", "stored", "expected"),
    [
        (None, VOID, DUE, ENDS),
        (WEEK, VOID, DUE | {"ttl": {"N": "99999999999"}}, ENDS),
        (WEEK, VOID, {"ttl": {"N": "99999999999"}}, None),
        (VOID, None, DUE | {"ttl": {"N": "99999999999"}}, None),
        (WEEK, VOID, DUE | {"ttl": {"N": "5"}}, 5),
    ],
)
def test_a_touch_gives_an_item_the_expiry_of_the_new_rule(
    before: ExpiryPlan | None, after: ExpiryPlan | None, stored: Image, expected: int | None
) -> None:
    table = MemoryTable()
    table.batch_write([{**IMAGE, **stored}])
    assert touch(make_ledger(before=before, expires=after), {**IMAGE, **stored}).send(table)
    wanted = None if expected is None else {"N": str(expected)}
    assert (table.get(get_key(IMAGE)) or {}).get("ttl") == wanted


def test_a_migrated_field_may_end_an_item() -> None:
    """The rule is that of before; the migration gives the item the label that it selects."""
    ledger = make_ledger(lambda _: {"label": "void"}, before=VOID)
    due = {"due": {"S": "2026-11-24"}}
    table = MemoryTable()
    table.batch_write([{**IMAGE, **due}])
    assert touch(ledger, {**IMAGE, **due}).send(table)
    assert (table.get(get_key(IMAGE)) or {})["ttl"] == {"N": str(ENDS + 86_400)}


def test_the_jobs_of_a_stack_have_the_migrations_of_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job_migrations").mkdir()
    (tmp_path / "job_migrations/__init__.py").write_text(
        "from daicho import migration\n\n"
        "@migration('Member', writes=['label'])\n"
        "def fill(member):\n    return {'label': member['name']}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = Settings("table", "local", settle_seconds=1, migration_package="job_migrations")
    ledger = replace(make_ledger(write_label), functions={})
    store = cast(Any, MemoryTable())
    jobs = StackJobs.build(settings, store, store, store, ledger, None, threads=1, now=lambda: NOW)
    assert list(jobs.ledger.functions) == ["Member.fill"]
