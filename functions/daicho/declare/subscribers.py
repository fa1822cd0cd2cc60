"""Subscribers: functions of the project that run for changes of items, each with its own queue."""

from __future__ import annotations

import datetime as dt
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass

if TYPE_CHECKING:
    from daicho.declare.entity import Entity

MAX_SUBSCRIBERS = 20
"""Of a project. The URLs of their queues are in one variable of a function, which has 4 KB."""
MAX_HOPS = 8
"""The subscribers one after the other whose writes may lead to an event: a loop ends there."""
MAX_TIMEOUT_S = 300
"""What the stream's functions have: a tenant's deletion waits for longer than that."""
MAX_ATTEMPTS = 1_000
"""Source: maxReceiveCount, SetQueueAttributes, Amazon SQS API Reference."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,29}")
_ACTION = re.compile(r"[a-z0-9-]+:[A-Za-z0-9]+")
_RESOURCE = re.compile(r"\*|arn:[^\s*]+:.+")


@dataclass(frozen=True)
class Event:
    """A change of an item, as a subscriber gets it.

    Attributes:
        id: the same one at each repeat, and of no other event.
        subject: the values of the item's key, as in a path.
        tenant: that of the item, and of the book.
        time: of the change, in UTC.
        version: of the item after the change; None if it is not known.
        actor: the subject of the user who wrote the item, or ``subscriber:`` and a name; None if
            the system did, and of a deletion.
        hops: the subscribers one after the other whose writes led to this one; 0 for a user's.
        attempt: 1 for the first delivery.
        old: the values before the change: of the key and of ``fields``; None of a new item.
        new: those after it; None of a deleted item.
    """

    id: str
    subject: str
    tenant: str
    time: dt.datetime
    version: int | None
    actor: str | None
    hops: int
    attempt: int
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


class Grant:
    """What a subscriber may do besides calls of its book: ``Grant("ses:SendEmail", "arn:…")``."""

    def __init__(self, actions: str | Iterable[str], resources: str | Iterable[str]) -> None:
        """Name actions and resources as a policy of IAM does, each one or several.

        ``${AWS::Region}``, ``${AWS::AccountId}`` and ``${AWS::Partition}`` in a resource become
        those of the stack.

        Raises:
            DeclarationError: an action has a wildcard, or a resource is no ARN.
        """
        self.actions = (actions,) if isinstance(actions, str) else tuple(actions)
        self.resources = (resources,) if isinstance(resources, str) else tuple(resources)
        for action in self.actions:
            if not _ACTION.fullmatch(action):
                raise DeclarationError(
                    f"Grant: {action!r} is no action; write each by its name: 'ses:SendEmail'"
                )
        for resource in self.resources:
            if not _RESOURCE.fullmatch(resource):
                raise DeclarationError(
                    f"Grant: {resource!r} is no resource; write an ARN, or '*' for an action that "
                    "knows no resources"
                )
        if not self.actions or not self.resources:
            raise DeclarationError(
                f"Grant({self.actions}, {self.resources}) has no effect; name actions and resources"
            )


@dataclass(frozen=True)
class Subscriber:
    """A function of the project. ``timeout_s``: of an invocation. ``attempts``: deliveries."""

    name: str
    entity: type[Entity]
    function: Callable[..., Any]
    grants: tuple[Grant, ...]
    timeout_s: int
    attempts: int


def build_subscriber(
    entity: type[Entity],
    function: Callable[..., Any],
    name: str,
    grants: Iterable[Grant],
    timeout_s: int,
    attempts: int,
) -> Subscriber:
    """The subscriber that a decorator declares.

    Raises:
        DeclarationError: names the subscriber, and what is wrong.
    """
    name = name or function.__name__
    where = f"the subscriber {name!r} of {entity.__name__}"
    if not _NAME.fullmatch(name):
        raise DeclarationError(
            f"{where}: a name has up to 30 lower-case letters, digits and _; write "
            'name="write_receipt"'
        )
    if inspect.iscoroutinefunction(function) or not _takes_two(function):
        raise DeclarationError(
            f"{where}: it is no function of a book and an event; write "
            f"def {name}(book: Book, event: Event) -> None"
        )
    for value, most, label in (
        (timeout_s, MAX_TIMEOUT_S, "timeout_s"),
        (attempts, MAX_ATTEMPTS, "attempts"),
    ):
        if type(value) is not int or not 1 <= value <= most:
            raise DeclarationError(
                f"{where}: {label} is {value!r}; write a number from 1 to {most}"
            )
    given: tuple[Any, ...] = tuple(grants)
    wrong = next((each for each in given if not isinstance(each, Grant)), None)
    if wrong is not None:
        raise DeclarationError(f"{where}: {wrong!r} is no grant; write Grant(actions, resources)")
    return Subscriber(name, entity, function, given, timeout_s, attempts)


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return True
