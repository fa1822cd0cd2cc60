"""Plans as JSON: read as they were written, and as lock files had them before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.declare.compiler import compile_entity
from daicho.errors import DeclarationError
from daicho.plan import AggregatePlan, EntityPlan, Ledger, Part
from daicho.plan.lockfile import append_generations, check_locked
from tests.support.sample_declarations import Task
from tests.support.sample_plans import SONG


def test_a_plan_reads_what_it_wrote() -> None:
    plan = compile_entity(Task)
    assert EntityPlan.from_json(plan.to_json()) == plan
    assert "copies" not in next(e for e in plan.to_json()["listings"] if e["name"] == "none")


def test_a_lock_file_with_an_unknown_declaration_is_refused() -> None:
    written = {**SONG.to_json(), "copied_to": {"entity": "Track", "switched": False}}
    with pytest.raises(DeclarationError, match=r"Song\.copied_to, which this version of Daicho"):
        EntityPlan.from_json(written)


def test_a_lock_file_says_only_of_others_when_they_are_rolled_up() -> None:
    chart = AggregatePlan("chart", 0, "count", None, (Part("title"),), (), ranked=True)
    ledger = append_generations([replace(SONG, aggregates=(chart,))], Ledger())
    (stored,) = ledger.to_json()["entities"]["Song"][0]["plan"]["aggregates"]
    assert "rolled_up" not in stored
    prompt = replace(SONG, aggregates=(replace(chart, rolled_up="at once"),))
    changed = append_generations([prompt], ledger)
    assert [each.plan.aggregates[0].since for each in changed.entities["Song"]] == [1, 1]
    assert Ledger.from_json(changed.to_json()) == changed
    assert changed.immediate_aggregates == {("Song", "chart", 1)}
    with pytest.raises(DeclarationError, match=r"Song\.chart changed without a new generation"):
        check_locked([prompt], ledger)
