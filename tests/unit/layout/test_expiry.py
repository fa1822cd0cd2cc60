"""The expiry of an image: from its creation, a field or its last change, under a condition."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.layout.expiry import MAX_AGE_S, build_touched_expiry, compute_ttl
from daicho.plan import Condition, EntityPlan, ExpiryPlan, Generation, KeyPlan, Ledger
from daicho.plan.expiry import CHANGED_AT
from daicho.storage.attributes import to_image

NOW = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
EPOCH = int(NOW.timestamp())
VOID = Condition("status", ("void",))


def make_plan(seconds: int = 60, **rule: Any) -> EntityPlan:
    fields = {"status": "str", "paid": "bool"}
    expires = ExpiryPlan(seconds, archive=False, **rule)
    return EntityPlan("Bill", fields, KeyPlan(("id",), ()), expires=expires)


def make_image(**fields: Any) -> Any:
    return to_image({"type": "Bill", "created_at": "2026-11-23T11:00:00.000000Z", **fields})


@pytest.mark.parametrize(
    ("plan", "fields", "expected"),
    [
        (make_plan(), {}, EPOCH - 3_600 + 60),
        (make_plan(of="due"), {"due": "2026-11-24"}, EPOCH + 12 * 3_600 + 60),
        (make_plan(-60, of="due"), {"due": "2026-11-23T12:00:05.900000Z"}, EPOCH + 5 - 60),
        (make_plan(of="due"), {}, None),
        (make_plan(of="due"), {"due": None}, None),
        (make_plan(where=VOID), {"status": "void"}, EPOCH - 3_600 + 60),
        (make_plan(where=VOID), {"status": "open"}, None),
        (make_plan(where=VOID), {}, None),
        (make_plan(where=Condition("paid", ("true",))), {"paid": True}, EPOCH - 3_600 + 60),
        (make_plan(of="due"), {"due": "0001-01-01"}, EPOCH - MAX_AGE_S),
        (make_plan(of="due"), {"due": "9999-12-31"}, 253_402_214_400 + 60),
    ],
)
def test_the_ttl_follows_from_the_image(
    plan: EntityPlan, fields: dict[str, Any], expected: int | None
) -> None:
    ttl = compute_ttl(plan, make_image(**fields), NOW)
    assert ttl == (None if expected is None else {"N": str(expected)})


@pytest.mark.parametrize("own", [1, 2, 7])
def test_a_touch_trusts_a_last_change_that_its_generation_keeps(own: int) -> None:
    plans = [make_plan(), make_plan(of=CHANGED_AT), make_plan(90, of=CHANGED_AT)]
    ledger = Ledger({"Bill": tuple(Generation(n, plan) for n, plan in enumerate(plans, 1))})
    image = make_image(gen=own, _changed_at="2026-11-23T11:59:00.000000Z")
    expiry = build_touched_expiry(ledger, image, image, plans[-1], NOW)
    at = EPOCH - 60 if own == 2 else EPOCH
    assert expiry["ttl"] == {"N": str(at + 90)}
