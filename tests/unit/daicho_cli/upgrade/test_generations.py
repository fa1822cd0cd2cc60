"""Generations that a newer version adds to unchanged declarations."""

from __future__ import annotations

import copy
from typing import Any

from daicho_cli.severity import Severity
from daicho_cli.upgrade.change import Area, Change
from daicho_cli.upgrade.generations import compare_generations
from tests.support.sample_project import LEDGER


def build_plan(**since: int) -> dict[str, Any]:
    return {
        "fields": {"id": "str"},
        "listings": [{"name": name, "since": number} for name, number in since.items()],
    }


def build_ledger(*plans: dict[str, Any]) -> dict[str, Any]:
    generations = [{"generation": i, "plan": plan} for i, plan in enumerate(plans, 1)]
    return {"entities": {"Order": generations}}


def judge(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[Severity, str, str]]:
    changes = compare_generations(before, after)
    assert {(change.area, change.subject) for change in changes} <= {(Area.GENERATIONS, "Order")}
    return [(change.severity, change.rule, change.sentence) for change in changes]


def test_the_same_generations_are_no_change() -> None:
    ledger = LEDGER.to_json()
    assert len(ledger["entities"]) > 10
    assert compare_generations(ledger, copy.deepcopy(ledger)) == []


def test_an_index_that_starts_again_is_breaking() -> None:
    before = build_plan(of_day=1, of_customer=1)
    after = build_plan(of_day=2, of_customer=1)
    assert judge(build_ledger(before), build_ledger(before, after)) == [
        (
            Severity.BREAKING,
            "generation-added",
            "Order gets generation 2; answer 503 being-built until all items are included: of_day; "
            "do not deploy the older version after an item was written",
        )
    ]


def test_new_and_removed_indexes_are_named() -> None:
    before = build_plan(old=1)
    ((_, _, sentence),) = judge(build_ledger(before), build_ledger(before, build_plan(new=2)))
    assert "answer 503 being-built until all items are included: new" in sentence
    assert "removed (their rows remain): old" in sentence


def test_a_generation_without_another_index_is_a_notice() -> None:
    before = build_plan(of_day=1)
    after = before | {"fields": {"id": "str", "note": "str"}}
    ((severity, _, sentence),) = judge(build_ledger(before), build_ledger(before, after))
    assert severity is Severity.NOTICE
    assert sentence.startswith("Order gets generation 2; no search, listing or figure starts again")


def test_the_last_of_several_new_generations_is_compared() -> None:
    first, second, third = build_plan(a=1), build_plan(a=2), build_plan(a=2, b=3)
    ((_, _, sentence),) = judge(build_ledger(first), build_ledger(first, second, third))
    assert sentence.startswith("Order gets generation 3; answer 503 being-built until")
    assert "included: a, b;" in sentence


def test_an_index_whose_earlier_instance_retires_may_go_on() -> None:
    before, after = build_plan(a=1), build_plan(a=2)
    after["retiring"] = {"listings": [{"name": "a", "since": 1}]}
    ((_, _, sentence),) = judge(build_ledger(before), build_ledger(before, after))
    assert "change (the earlier instance retires; it answers if the question is the same): a" in (
        sentence
    )


def test_a_generation_must_not_change_or_disappear() -> None:
    first, second = build_plan(a=1), build_plan(a=2)
    ((severity, rule, sentence),) = judge(build_ledger(first, second), build_ledger(first))
    assert (severity, rule) == (Severity.DATA_LOSS, "generation-lost")
    assert "generation 2 is lost or changed" in sentence
    ((severity, rule, _),) = judge(build_ledger(first), build_ledger(build_plan(a=9)))
    assert (severity, rule) == (Severity.DATA_LOSS, "generation-lost")
    ((severity, _, _),) = judge(build_ledger(first), {"entities": {}})
    assert severity is Severity.DATA_LOSS


def test_a_newer_version_may_write_more_into_an_old_generation() -> None:
    before, after = build_plan(a=1), build_plan(a=1)
    after["mode"] = "prefix"
    after["listings"][0]["shards"] = 1
    assert judge(build_ledger(before), build_ledger(after)) == []


def test_an_entity_of_the_new_version_is_a_notice() -> None:
    assert compare_generations({"entities": {}}, build_ledger(build_plan())) == [
        Change(
            Area.GENERATIONS,
            Severity.NOTICE,
            "entity-added",
            "Order",
            "Order is an entity of the new version",
        )
    ]
