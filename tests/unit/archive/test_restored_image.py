"""The expiry of a restored item: it counts from the restore, unless its field is later."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.archive.restored_image import build_restored_image
from daicho.archive.row_format import ArchivedRow
from daicho.plan import Condition, EntityPlan, ExpiryPlan, KeyPlan, Ledger, append_generations
from daicho.plan.expiry import CHANGED_AT
from daicho.storage.attributes import to_image

NOW = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
EPOCH = int(NOW.timestamp())
VOID = Condition("status", ("void",))


def restore(expires: ExpiryPlan, **fields: Any) -> Any:
    kinds = {"id": "str", "status": "str"}
    plan = EntityPlan("Bill", kinds, KeyPlan(("id",), ()), expires=expires)
    item = to_image(
        {
            **{"PK": "t#Bill#1", "SK": "-", "type": "Bill", "gen": 1, "version": 3, "ttl": 5},
            **{"id": "1", "status": "void", "created_at": "2020-01-01T00:00:00.000000Z"},
            **{CHANGED_AT: "2020-01-02T00:00:00.000000Z", **fields},
        }
    )
    row = ArchivedRow("t", "Bill", 1, NOW, "1", raw=False, item=item)
    return build_restored_image(row, append_generations([plan], Ledger()), NOW)[0]


@pytest.mark.parametrize(
    ("rule", "fields", "expected"),
    [
        ({}, {}, EPOCH + 60),
        ({"of": "due"}, {"due": "2020-01-01"}, EPOCH + 60),
        ({"of": "due"}, {"due": "2026-11-24"}, EPOCH + 12 * 3_600 + 60),
        ({"of": "due", "where": VOID}, {"due": "2020-01-01", "status": "open"}, None),
        ({"of": CHANGED_AT}, {}, EPOCH + 60),
    ],
)
def test_a_restored_item_lives_as_long_as_a_new_one(
    rule: dict[str, Any], fields: dict[str, Any], expected: int | None
) -> None:
    image = restore(ExpiryPlan(60, archive=True, **rule), **fields)
    assert image.get("ttl") == (None if expected is None else {"N": str(expected)})
    changed = {"S": "2026-11-23T12:00:00.000000Z"} if rule.get("of") == CHANGED_AT else None
    assert image.get(CHANGED_AT) == changed
