"""Which entities can be copied into which."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import pytest

from daicho import (
    CopiedTo,
    Domain,
    Entity,
    Expires,
    Key,
    Split,
    Versioned,
    field,
    stored_object,
    uid,
)
from daicho import StoredObject as Stored
from daicho.declare.keys import check_copies
from daicho.declare.registry import Daicho
from daicho.plan import CopyPlan
from tests.support.sample_declarations import refused


class User(Entity):
    id: str = uid()
    email: str = field()
    state: Literal["new", "old"] = field(default="new")
    note: str | None = field(default=None)

    key = Key(id)
    copied_to = CopiedTo("Person")


class Person(Entity):
    id: str = field()
    email: str = field()
    note: str | None = field(default=None)

    key = Key(email)


def copy_to(**body: Any) -> None:
    """Copy users to a person with other declarations; an annotation is given as a pair."""
    annotations = {name: value[0] for name, value in body.items() if isinstance(value, tuple)}
    values = {name: value[1] if name in annotations else value for name, value in body.items()}
    mail = field()
    declared = {
        **{"__module__": __name__, "__annotations__": {"email": str, **annotations}},
        **{"email": mail, "key": Key(mail), **values},
    }
    check_copies([User, type("Person", (Entity,), declared)])


def test_the_plan_names_the_entity_of_the_copies() -> None:
    plans = {plan.name: plan for plan in Daicho(Domain("users", User, Person)).plans}
    assert plans["User"].copied_to == CopyPlan("Person", switched=False)
    assert plans["Person"].copied_to is None


def test_the_other_entity_is_one_of_the_project() -> None:
    with refused(r"User\.copied_to needs another entity of this project, not 'Person'"):
        check_copies([User])


def test_a_copy_is_of_one_entity_and_not_copied_itself() -> None:
    body = {"__module__": __name__, "__annotations__": {"email": str}}

    def declare(name: str, target: str) -> type[Entity]:
        mail = field()
        copied = {"copied_to": CopiedTo(target)} if target else {}
        return type(name, (Entity,), {**body, "email": mail, "key": Key(mail), **copied})

    with refused("Person is a copy of User"):
        check_copies([User, declare("Member", "Person"), Person])
    with refused("Member is copied too"):
        check_copies([declare("Group", "Member"), declare("Member", "Other"), declare("Other", "")])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"versions": Versioned("copy")}, "Person keeps versions"),
        (
            {"scan": (Stored, stored_object(max_bytes=9, types=("image/png",)))},
            "Person has objects",
        ),
        ({"expires": Expires(dt.timedelta(days=1))}, "Person and User must expire alike"),
        ({"phone": (str, field())}, "User has no field 'phone'"),
        ({"note": (str, field())}, r"Person\.note is required, but User\.note may be absent"),
        ({"note": (int | None, field(default=None))}, r"Person\.note is int, but User\.note str"),
        ({"state": (Literal["new"], field(default="new"))}, r"User\.state takes values"),
    ],
)
def test_what_cannot_be_copied_is_refused(body: dict[str, Any], message: str) -> None:
    with refused(message):
        copy_to(**body)


def test_sections_cannot_be_copied() -> None:
    parts = field()
    with refused("Person has sections"):
        copy_to(parts=(dict[str, str], parts), split=Split(parts))


def test_fields_with_a_default_may_be_added() -> None:
    copy_to(phone=(str, field(default="")))
