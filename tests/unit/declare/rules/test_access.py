"""Rules of access, as they are declared."""

from __future__ import annotations

from typing import Any

import pytest

from daicho import Domain, Entity, Key, field, owned_by_caller, uid
from daicho.declare.registry import Daicho
from daicho.declare.rules.access import read_verb_roles
from daicho.declare.rules.roles import read_names
from daicho.errors import DeclarationError


class Owned(Entity):
    """An item with an owner."""

    id: str = uid()
    owner: str = owned_by_caller()

    key = Key(id)


class Plain(Entity):
    """An item without one."""

    id: str = uid()

    key = Key(id)


def declare(**rule: Any) -> dict[str, Any]:
    domain = Domain("d", Owned, Plain)
    for entity, names in rule.items():
        domain.access(Owned if entity == "Owned" else Plain, **names)
    return dict(Daicho(domain).access_rules)


def test_an_entity_is_open_unless_it_has_a_rule() -> None:
    rules = declare()
    assert set(rules) == {"Owned"}
    assert (rules["Owned"].read, rules["Owned"].write) == (("tenant",), ("tenant",))
    assert (rules["Owned"].owner, rules["Owned"].is_open) == ("owner", True)
    rule = declare(Owned={"read": ("owner", "a", "b"), "write": ("owner", "a")})["Owned"]
    assert (rule.reading_roles, rule.writing_roles, rule.is_open) == (("a", "b"), ("a",), False)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"Plain": {"read": "owner"}}, "owner: str = owned_by_caller()"),
        ({"Owned": {"read": ()}}, "admits nobody"),
        ({"Owned": {"read": "owner", "write": ("owner", "staff")}}, r"read=\(..., 'staff'\)"),
        ({"Owned": {"read": "owner", "write": "tenant"}}, "'tenant' may write"),
        ({"Owned": {"read": "two words"}}, "no name of a role"),
        ({"Owned": {"read": ("owner", "")}}, "no name of a role"),
    ],
)
def test_a_wrong_rule_names_its_remedy(rule: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        declare(**rule)


def test_a_rule_is_declared_once_and_by_the_domain_of_the_entity() -> None:
    domain = Domain("d", Owned)
    domain.access(Owned, write="staff")
    with pytest.raises(DeclarationError, match="declared twice"):
        domain.access(Owned)
    with pytest.raises(DeclarationError, match="not of the domain 'd'"):
        domain.access(Plain)


def test_an_owner_is_one_text() -> None:
    with pytest.raises(DeclarationError, match="two owners"):

        class Two(Entity):
            id: str = owned_by_caller()
            owner: str = owned_by_caller()

            key = Key(id)

    with pytest.raises(DeclarationError, match=r"Number\.id is a subject; write id: str"):

        class Number(Entity):
            id: int = owned_by_caller()
            other: str = field()

            key = Key(other)


def test_roles_by_verb() -> None:
    verbs = ("GET", "DELETE")
    assert read_verb_roles("a", verbs, "/x") == dict.fromkeys((*verbs, "LIST"), ("a",))
    by_verb = read_verb_roles({"GET": "a", "DELETE": ("b", "c")}, verbs, "/x")
    assert by_verb == {"GET": ("a",), "DELETE": ("b", "c"), "LIST": ("a",)}
    assert read_verb_roles({"GET": "a", "LIST": None}, verbs, "/x")["LIST"] == ()
    with pytest.raises(DeclarationError, match="names none of its verbs GET DELETE"):
        read_verb_roles({"PUT": "a"}, verbs, "/x")
    assert read_names(("a", "b", "a"), "/x") == ("a", "b")
    assert read_names(None, "/x") == ()
