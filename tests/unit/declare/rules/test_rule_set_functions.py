"""Functions in declarations: what is refused at import, with what to write instead."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import JsonValue

from daicho import (
    ChangeCheck,
    Check,
    Domain,
    Entity,
    Frozen,
    Key,
    Split,
    StoredObject,
    computed,
    created_at,
    field,
    one_of,
    owned_by_caller,
    stored_object,
    transition,
    uid,
)
from daicho.declare.registry import Daicho
from daicho.errors import DeclarationError


def double(number: int) -> int:
    return 2 * number


def is_small(number: int) -> str | None:
    return None if number < 3 else "too large"


async def wait(number: int) -> int:
    return number


class Other(Entity):
    id: str = uid()
    number: int = field()
    key = Key(id)


FIELD: Any = Other.fields_["number"]


@pytest.mark.parametrize("declare", [computed, Check])
@pytest.mark.parametrize(
    ("function", "inputs", "words"),
    [
        (lambda number: number, (FIELD,), "takes a named function of a module, not .*lambda"),
        (str.upper, (FIELD,), "takes a named function of a module, not str.upper"),
        (3, (FIELD,), "not 3: write def"),
        (wait, (FIELD,), "write def, not async def"),
        (double, (), "names no fields: write the fields"),
        (double, (FIELD, FIELD), r"too many positional .* def double\(number, number\)"),
        (double, (5,), "5 is none: write"),
    ],
)
def test_functions_that_no_declaration_takes(
    declare: Any, function: Any, inputs: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(DeclarationError, match=words):
        declare(function, *inputs)


def test_fields_that_no_function_reads() -> None:
    with pytest.raises(DeclarationError, match=r"Mine.twice reads Other.number, .* Copy it"):

        class Mine(Entity):
            id: str = uid()
            twice: int = computed(double, FIELD)
            key = Key(id)

    with pytest.raises(DeclarationError, match=r"Mine2.twice reads created_at, .* declare a field"):

        class Mine2(Entity):
            id: str = uid()
            twice: int = computed(double, created_at)
            key = Key(id)

    with pytest.raises(DeclarationError, match=r"Mine3.early reads created_at"):

        class Mine3(Entity):
            id: str = uid()
            early = Check(is_small, created_at)
            key = Key(id)

    with pytest.raises(DeclarationError, match=r"Mine4.small reads Mine4.image, an object"):

        class Mine4(Entity):
            id: str = uid()
            image: StoredObject = stored_object(max_bytes=10, types=("a/b",))
            key = Key(id)
            small = Check(is_small, image)

    with pytest.raises(DeclarationError, match=r"Mine5.small reads Mine5.parts, whose sections"):

        class Mine5(Entity):
            id: str = uid()
            parts: dict[str, JsonValue] = field()
            key = Key(id)
            split = Split(parts)
            small = Check(is_small, parts)

    with pytest.raises(DeclarationError, match=r"Mine6.twice is computed, .* take it out"):

        class Mine6(Entity):
            number: int = field()
            twice: int = computed(double, number)
            key = Key(twice)


def test_a_computed_field_is_no_argument_that_must_be_given() -> None:
    class Mine7(Entity):
        id: str = uid()
        number: int = field()
        twice: int = computed(double, number)
        four: int = computed(double, twice, ge=0)
        price: Decimal | None = None
        key = Key(id)
        small = Check(is_small, twice)

    assert [spec.name for spec in Mine7.rules_.computed] == ["twice", "four"]
    assert [str(check) for check in Mine7.rules_.checks] == ["Mine7.small"]
    assert Mine7.fields_["four"].is_required_in_items
    assert not Mine7.fields_["four"].required
    assert Mine7(number=2).twice is None, "it is computed with a write"
    assert not Other.rules_


def keep(old: Any, new: Any) -> str | None:
    return None if old == new else "it changes"


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda n: ChangeCheck(lambda old, new: None, n), "named function of a module"),
        (lambda n: ChangeCheck(is_small, n), r"takes? .*two arguments, .*\(old, new\)"),
        (lambda n: ChangeCheck(keep), "names no fields"),
        (lambda n: ChangeCheck(keep, Other.number), "Wrong.rule reads Other.number"),
        (lambda n: Frozen(when=one_of(n, 1)), "freezes nothing: name fields"),
        (lambda n: Frozen(n, when="paid"), "where takes one_of"),  # type: ignore[arg-type]
        (lambda n: Frozen(Other.number), "Wrong.rule reads Other.number"),
    ],
)
def test_rules_over_changes_that_are_refused(declare: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):

        class Wrong(Entity):
            number: int = field()
            key = Key(number)
            rule = declare(number)


def test_writers_that_are_refused() -> None:
    with pytest.raises(DeclarationError, match=r"Wrong2.number: write='owner' needs an owner"):

        class Wrong2(Entity):
            number: int = field(write="owner")
            key = Key(number)

    with pytest.raises(DeclarationError, match=r"Unowned.state: transition\(role='owner'\) needs"):

        class Unowned(Entity):
            state: Literal["open", "paid"] = field(
                transitions={"open": (transition("paid", role="owner"),)}
            )
            key = Key(state, moves=state)

    with pytest.raises(DeclarationError, match=r"Wrong3.number: write='tenant' limits nothing"):

        class Wrong3(Entity):
            number: int = field(write="tenant")
            key = Key(number)

    with pytest.raises(DeclarationError, match=r"Wrong4.rule: 3 is not a value of .* \(1, 2\)"):

        class Wrong4(Entity):
            number: Literal[1, 2] = field()
            id: str = uid()
            key = Key(id)
            rule = Frozen(id, when=one_of(number, 3))


def test_the_roles_of_a_project_include_those_of_changes() -> None:
    class Payment(Entity):
        id: str = uid()
        state: Literal["open", "paid"] = field(
            transitions={"open": (transition("paid", role=("clerk", "owner")),)}
        )
        limit: int = field(write="boss")
        by: str = owned_by_caller()

        key = Key(id)

    assert Daicho(Domain("payments", Payment)).roles == ("boss", "clerk")
