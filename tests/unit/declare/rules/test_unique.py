"""Unique values as they are declared: their plan, their query, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

import pytest
from pydantic import JsonValue

from daicho import (
    Domain,
    Entity,
    Key,
    Listing,
    Split,
    Unique,
    Versioned,
    created_at,
    field,
    ref,
    uid,
)
from daicho.declare.entity import EntityMeta
from daicho.declare.queries import UniqueRef
from daicho.declare.registry import Daicho
from daicho.plan import Decisions, EntityPlan, Ledger, UniquePlan
from tests.support.account_domains.accounts import Account, Pass
from tests.support.sample_declarations import refused
from tests.support.unique_accounts import LEDGER


class Org(Entity):
    id: str = uid()
    name: str = field()

    key = Key(id)


def make_entity(name: str, body: dict[str, Any]) -> type[Entity]:
    made: Any = EntityMeta(name, (Entity,), body)
    return cast("type[Entity]", made)


def compile_entity(entity: type[Entity]) -> EntityPlan:
    (plan,) = Domain("unique", entity).plans
    return plan


def test_the_plan_of_a_unique_value() -> None:
    plan = LEDGER.newest_generation("Account").plan
    assert plan.uniques == (
        UniquePlan("email_is_unique", 1, ("email",), (), "full", fold_version=2),
        UniquePlan("handle_is_unique", 1, ("handle",), ("org",), "none"),
    )
    assert EntityPlan.from_json(plan.to_json()) == plan
    assert plan.has_derived_state  # its listing
    assert not LEDGER.newest_generation("Article").plan.has_derived_state
    assert "uniques" not in compile_entity(Org).to_json()


def test_the_query_of_a_unique_value() -> None:
    expected = UniqueRef(Pass, (1, "red"), unique="numbered", names=("number", "colour"))
    assert Pass.numbered(1, "red") == expected
    assert Account.handle_is_unique("acme", "ada").names == ("org", "handle")
    with pytest.raises(TypeError, match=r"Account\.handle_is_unique takes 2 values, not 1"):
        Account.handle_is_unique("ada")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "at least one field"),
        ({"fields": ("name",)}, "a declaration takes fields; 'name' is none"),
        ({"fields": (Org.id,), "fold": "upper"}, "folds by True, 'case' or 'full', not 'upper'"),
    ],
)
def test_arguments_that_a_unique_does_not_take(arguments: dict[str, Any], message: str) -> None:
    with refused(message):
        Unique(*arguments.get("fields", ()), fold=arguments.get("fold", False))


def test_fields_whose_values_cannot_be_reserved() -> None:
    class Priced(Entity):
        id: str = uid()
        price: Decimal = field()
        count: int = field()
        state: str = field(default="new")
        org: str = ref(Org)

        key = Key(id)

    def declare(*fields: Any, **options: Any) -> type[Entity]:
        body = {
            "__module__": __name__,
            "__annotations__": {"id": str, "price": Decimal, "count": int, "state": str},
            "id": uid(),
            "price": field(),
            "count": field(),
            "state": field(default="new"),
        }
        chosen = [body[each] if isinstance(each, str) else each for each in fields]
        body |= {"key": Key(body["id"]), "one": Unique(*chosen, **options)}
        return make_entity("Declared", body)

    for message, fields, options in (
        (r"reads Declared\.price, which is decimal; it takes str or int", ("price",), {}),
        (r"is 'new' in every item .* Use None: state: str \| None", ("state",), {}),
        (r"folds texts, but none of its fields is str", ("count",), {"fold": True}),
        (r"names Declared\.count twice", ("count", "count"), {}),
        (r"reads created_at, which the library sets", (created_at,), {}),
        (r"no field of Declared\. Copy it: name: \.\.\. = copied", (Org.name,), {}),
    ):
        with refused(message.replace("str ", "... ") if "Use None" in message else message):
            compile_entity(declare(*fields, **options))
    assert compile_entity(declare("state", "count")).uniques[0].fields == ("state", "count")


def test_entities_whose_items_have_no_reservations() -> None:
    class Document(Entity):
        id: str = uid()
        number: str = field()
        sections: dict[str, JsonValue] = field()

        key = Key(id)
        split = Split(sections)
        one = Unique(number)

    class Manual(Entity):
        id: str = uid()
        number: str = field()

        key = Key(id)
        versions = Versioned("pointer")
        one = Unique(number)

    with refused("Document is split.*Declare the unique fields in another entity"):
        compile_entity(Document)
    with refused(r"Manual is versioned by pointer.*use Versioned\('copy'\)"):
        compile_entity(Manual)


def declare_users(*, unique: Unique | None, listed: bool = False) -> Daicho:
    body: dict[str, Any] = {"id": uid(), "name": field()}
    body |= {"key": Key(body["id"])}
    if unique is not None:
        unique = Unique(body["name"], fold=unique.fold == "full")
        body["one"] = unique
    if listed:
        body["named"] = Listing(body["name"])
    annotations = {"id": str, "name": str}
    entity = make_entity("User", {"__module__": __name__, "__annotations__": annotations, **body})
    return Daicho(Domain("users", entity))


def test_a_changed_unique_is_another_instance_and_the_old_one_retires() -> None:
    plain, full = Unique(Org.name), Unique(Org.name, fold=True)
    first = declare_users(unique=None).append_generations(Ledger())
    second = declare_users(unique=plain).append_generations(first)
    third = declare_users(unique=full).append_generations(second)
    reverted = Decisions(reverted=frozenset({"User"}))
    fourth = declare_users(unique=None).append_generations(second, reverted)
    fifth = declare_users(unique=plain, listed=True).append_generations(second)
    assert [each.since for each in second.newest_generation("User").plan.uniques] == [2]
    newest = third.newest_generation("User").plan
    assert [(each.since, each.fold) for each in newest.derived_uniques] == [
        (3, "full"),
        (2, "none"),
    ]
    removed = fourth.newest_generation("User").plan
    assert not removed.uniques
    assert [each.since for each in removed.retiring.uniques] == [2]
    assert [each.since for each in fifth.newest_generation("User").plan.uniques] == [2]
    assert declare_users(unique=plain).check_locked(fourth).written == {"User": 2}
    assert declare_users(unique=None).check_locked(second).written == {"User": 1}
