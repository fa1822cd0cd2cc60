"""Retentions as plain data: their JSON, and which of two keeps items longer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daicho.plan import Condition, EntityPlan, ExpiryPlan
from daicho.plan.expiry import is_kept_as_long
from tests.support.sample_plans import SONG

HOUR = ExpiryPlan(3_600, archive=False)
VOID, BOTH = Condition("status", ("void",)), Condition("status", ("void", "paid"))


def test_default_values_are_left_out_of_the_lock_file() -> None:
    rule = ExpiryPlan(-60, archive=True, of="due", where=VOID)
    plans = [replace(SONG, expires=each) for each in (HOUR, rule)]
    stored = [each.to_json() for each in plans]
    assert stored[0]["expires"] == {"seconds": 3_600, "archive": False}
    assert stored[1]["expires"] == {
        **{"seconds": -60, "archive": True, "of": "due"},
        "where": {"field": "status", "one_of": ["void"]},
    }
    assert [EntityPlan.from_json(each) for each in stored] == plans
    assert [sorted(each.fields) for each in (HOUR, rule)] == [[], ["due", "status"]]
    assert (HOUR.is_fixed, rule.is_fixed) == (True, False)


@pytest.mark.parametrize(
    ("by", "than", "expected"),
    [
        ({}, {"seconds": 60}, True),
        ({"seconds": 60}, {}, False),
        ({"where": VOID}, {}, True),
        ({}, {"where": VOID}, False),
        ({"where": VOID}, {"where": BOTH}, True),
        ({"where": BOTH}, {"where": VOID}, False),
        ({"where": Condition("kind", ("void",))}, {"where": BOTH}, False),
        ({"of": "due"}, {}, False),
        ({"of": "due", "seconds": 7_200}, {"of": "due"}, True),
    ],
)
def test_a_retention_is_longer_only_if_no_item_expires_earlier(
    by: dict[str, Any], than: dict[str, Any], expected: bool
) -> None:
    plans = [ExpiryPlan(**{"seconds": 3_600, "archive": False, **each}) for each in (by, than)]
    assert is_kept_as_long(*plans) is expected
    assert is_kept_as_long(None, plans[1])
    assert not is_kept_as_long(plans[0], None)
