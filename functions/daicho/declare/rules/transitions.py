"""Transitions: from which value to which one a state field may change."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from daicho.declare.fields import MISSING, FieldSpec
from daicho.declare.rules.roles import RoleArgument, read_names
from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass


@dataclass(frozen=True)
class Transition:
    """A state that may follow another one, with its limits: see `transition`."""

    state: str
    roles: tuple[str, ...] = ()
    once: bool = False


def transition(state: str, *, role: RoleArgument = None, once: bool = False) -> Transition:
    """A state in ``transitions=`` that only some callers may set, or that is set only once.

    ``transitions={"open": (transition("paid", role="accountant", once=True), "void")}``.

    Args:
        state: the new state.
        role: who may make this change: names of roles, or ``"owner"``. By default everybody who
            may write the item.
        once: a request that gives the state to an item that has it already is refused with 409, so
            that of several equal requests one is answered with success.

    Raises:
        DeclarationError: a role has no valid name.
    """
    return Transition(state, read_names(role, f"transition({state!r})"), once)


@dataclass(frozen=True)
class Transitions:
    """The allowed changes of one state field.

    ``following``: the states that may follow each state. ``initial``: the states that a new item
    may have. ``default``: the state of stored items that have none. ``roles``: who may change an
    old state (None for a new item) to a new one, if not everybody may. ``once``: the states that
    are given only once.
    """

    name: str
    following: Mapping[str, tuple[str, ...]]
    initial: tuple[str, ...]
    default: str | None = None
    states: tuple[str, ...] = field(default=())
    roles: Mapping[tuple[str | None, str], tuple[str, ...]] = field(default_factory=dict)
    once: frozenset[str] = frozenset()

    def allows(self, old: str | None, new: str) -> bool:
        """Whether a state may follow another one; None is that of an item that does not exist."""
        if old is None:
            return new in self.initial
        return old == new or new in self.following.get(old, ())

    def list_allowed(self, old: str | None) -> tuple[str, ...]:
        """The states that may follow a state, or that a new item may have."""
        return self.initial if old is None else self.following.get(old, ())

    @cached_property
    def preceding(self) -> Mapping[str, tuple[str, ...]]:
        """The states from which each state may be reached, itself among them."""
        return {
            new: tuple(old for old in self.states if self.allows(old, new)) for new in self.states
        }


def read_transitions(spec: FieldSpec, *, is_fixed_in_key: bool) -> Transitions:
    """The transitions of a state field, checked.

    ``is_fixed_in_key``: the field is in the key, and its change does not move the item.

    Raises:
        DeclarationError: the field has no states, or the transitions name another one.
    """
    states = _check_state_field(spec, is_fixed_in_key=is_fixed_in_key)
    given = spec.transitions
    if not isinstance(given, Mapping):
        raise DeclarationError(f"{spec}: transitions={given!r} is no dict; write {_EXAMPLE}")
    following: dict[Any, tuple[str, ...]] = {}
    limited: list[tuple[Any, Transition]] = []
    for old, listed in given.items():
        if isinstance(listed, str) or not isinstance(listed, tuple | list | set | frozenset):
            raise DeclarationError(
                f"{spec}: transitions[{old!r}] is {listed!r}, and takes several states; write "
                f"{old!r}: ({listed!r},)"
            )
        limited += [(old, each) for each in listed if isinstance(each, Transition)]
        news = [each.state if isinstance(each, Transition) else each for each in listed]
        for state in news if old is None else (old, *news):
            _check_state(spec, state, states)
        following[old] = tuple(state for state in states if state in news)
    initial = following.pop(None, states)
    if not initial:
        raise DeclarationError(
            f"{spec}: transitions[None] is empty, so no item could be created: name the states "
            f"of new items, None: ({states[0]!r},)"
        )
    default = None if spec.default is MISSING else spec.default
    if default is not None and default not in initial:
        raise DeclarationError(
            f"{spec}: its default {default!r} is not among transitions[None] {initial}, the states "
            "of new items: add it there, or use one of them as the default"
        )
    roles = {(old, each.state): each.roles for old, each in limited if each.roles}
    once = frozenset(each.state for _, each in limited if each.once)
    return Transitions(spec.name, following, initial, default, states, roles, once)


def _check_state_field(spec: FieldSpec, *, is_fixed_in_key: bool) -> tuple[str, ...]:
    """Check that a field can have transitions; its states."""
    states = spec.literals
    if not states or not all(isinstance(state, str) for state in states):
        raise DeclarationError(
            f"{spec} has transitions, but no states: declare them as its type, "
            f'{spec.name}: Literal["draft", "open"] = field(transitions=...)'
        )
    if spec.accepts_none:
        raise DeclarationError(
            f"{spec} has transitions and may be None: remove None from its type, and declare "
            "a state for it"
        )
    if spec.frozen or is_fixed_in_key:
        why = "is frozen" if spec.frozen else "is in the key, which does not move"
        raise DeclarationError(
            f"{spec} has transitions, but {why}: remove transitions=, or let the field change "
            f"({'without frozen=True' if spec.frozen else f'Key(..., moves={spec.name})'})"
        )
    return states


_EXAMPLE = 'transitions={"draft": ("open", "void"), "open": ("paid",)}'


def _check_state(spec: FieldSpec, state: Any, states: tuple[Any, ...]) -> None:
    if state in states:
        return
    similar = difflib.get_close_matches(str(state), states, 1)
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    raise DeclarationError(
        f"{spec}: transitions name {state!r}, which is no value of the field{hint}; use one of "
        f"{states}, or add it to the Literal"
    )
