"""Items over the limits: with both sides together, or with one."""

from __future__ import annotations

from dataclasses import replace

from daicho.plan import EntityPlan, KeyPlan, ListingPlan, Part, RetiringPlan, UniquePlan
from daicho.storage.attributes import Image, to_image
from daicho_cli.plan.items import MAX_NAMED, LimitCheck

TAGGED = ListingPlan("tagged", 2, (Part("tags", each=True),), ("created_at",))
PLAIN = EntityPlan("User", {"id": "str", "tags": "set"}, KeyPlan(("id",), ()))
ROWS = replace(
    PLAIN, listings=(TAGGED,), retiring=RetiringPlan(listings=(replace(TAGGED, since=1),))
)


def make_image(tags: int, number: int = 0) -> Image:
    values = {"id": f"{number:026d}", "tags": {f"tag-{n}" for n in range(tags)}}
    key = {"PK": f"acme#User#{number:026d}", "SK": "-", "created_at": "2026-11-21T00:00:00.000000Z"}
    return to_image({**key, **values})


def test_the_first_items_are_named() -> None:
    check = LimitCheck()
    assert check.add(ROWS, make_image(1))
    for number in range(MAX_NAMED + 5):
        assert check.add(ROWS, make_image(300, number))
        assert not check.add(ROWS, make_image(500, number))
    assert check.checked == 1 + 2 * (MAX_NAMED + 5)
    for found in (check.over_together, check.impossible):
        assert found.count == MAX_NAMED + 5
        assert [key.pk for key in found.keys] == [
            f"acme#User#{number:026d}" for number in range(MAX_NAMED)
        ]


def test_items_with_one_unique_value_are_named_both() -> None:
    plan = replace(
        PLAIN,
        fields={**PLAIN.fields, "name": "str"},
        uniques=(UniquePlan("one", 2, ("name",), (), "case"),),
    )
    check = LimitCheck(now=1)
    for number, name in enumerate(("a", "b", "A", "c", "a")):
        image = {**make_image(1, number), "name": {"S": name}}
        assert check.add(plan, image)
    expired = {**make_image(1, 9), "name": {"S": "a"}, "ttl": {"N": "1"}}
    assert check.add(plan, expired)
    assert check.taken.count == 2
    assert [key.pk[-1] for key in check.taken.keys] == ["0", "2", "4"]
    long = {**make_image(1, 8), "name": {"S": "x" * 2048}}
    check.add(plan, long)
    assert check.impossible.count == 1
