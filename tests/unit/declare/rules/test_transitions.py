"""Transitions: which changes of a state are allowed, and which declarations are refused."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from daicho import Entity, Key, field, uid
from daicho.declare.fields import FieldSpec
from daicho.declare.rules.transitions import read_transitions
from daicho.errors import DeclarationError

State = Literal["draft", "open", "paid", "void"]
GIVEN: dict[str | None, Any] = {
    None: ("draft",),
    "draft": ["open", "void"],
    "open": {"paid", "void"},
}


def declare(given: Any, annotation: Any = State, *, in_key: bool = False, **options: Any) -> Any:
    spec: FieldSpec = field(transitions=given, **options)
    spec.name, spec.entity, spec.annotation = "status", "Invoice", annotation
    return read_transitions(spec, is_fixed_in_key=in_key)


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ({"drft": ("open",)}, {}, "name 'drft', .*; did you mean 'draft'?"),
        ({"draft": ("opne",)}, {}, "name 'opne', .*; did you mean 'open'.; use one of"),
        ({None: ("xyz",)}, {}, "name 'xyz', which is no value of the field; use one of"),
        ({"draft": "open"}, {}, r"transitions\['draft'\] is 'open', .* \('open',\)"),
        ([("draft", "open")], {}, "is no dict; write transitions="),
        ({None: ()}, {}, r"no item could be created: name .* \('draft',\)"),
        ({None: ("open",)}, {"default": "draft"}, "its default 'draft' is not among"),
        (GIVEN, {"frozen": True}, "is frozen: remove transitions="),
        (GIVEN, {"in_key": True}, r"in the key, .* moves=status"),
        (GIVEN, {"annotation": str}, "no states: declare them as its type, status: Literal"),
        (GIVEN, {"annotation": Literal[1, 2]}, "no states"),
        (GIVEN, {"annotation": State | None}, "may be None: remove None"),
    ],
)
def test_declarations_that_are_refused(given: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DeclarationError, match=rf"Invoice.status.*{words}"):
        declare(given, **options)


def test_the_import_fails_with_the_name_of_the_field() -> None:
    with pytest.raises(DeclarationError, match=r"Wrong.state: transitions name 'sent'"):

        class Wrong(Entity):
            id: str = uid()
            state: Literal["new", "done"] = field(transitions={"new": ("sent",)})
            key = Key(id)
