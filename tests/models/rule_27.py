"""Rule 27: no function gets a lock file that lacks a generation which items may have.

CloudFormation updates a stack from lock file 1 to 2 and 3. Each update may fail in every step,
and then goes back. A step of the rollback may fail too: the operator skips it. An invocation of
the step `open` that CloudFormation has given up may run on as long as it likes, so two releases
are concurrent. The step `check` fences off what began before it. Each generation changes two
entities, which `open` writes by two transactions, as for more than 98 entities. A rebuild touches
items with the newest generation that is recorded, while no deployment is.

Wrong: a stream consumer has an older lock file than the generation of an image (the stream
stops), or the last deployment has succeeded and is not recorded as over (rebuilds wait for good).

In a second space the first release writes the items of a table that has base items. It may be
killed after each transaction, and is repeated. Wrong: an entity counts as new, so instances that
lack its base items answer.

Time: none but the order of events. An invocation runs on until Lambda ends it (15 minutes), and
no clock is read.

Not modelled: event filters (`rule_28`); what a lock file disables (`rule_34`); a rollback that
ends half-way; a third invocation that runs on; code that is replaced without CloudFormation (its
API reads the released lock file); digests of generations; an operator who skips `check`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.engine import Model, Space, Step

NEWEST = 3
MAX_LATE = 1
"""Invocations that run on. `make models` explores two, with many times as many states."""


class Attempt(NamedTuple):
    """An invocation of `open`: sent, begun, read, or half: one transaction of two is done.

    ``overtaken``: another check began since this one did; or, before it begins, a check of the
    same lock file.
    """

    ledger: int
    step: str = "sent"
    overtaken: bool = False
    newest: tuple[int, int] = (0, 0)


class State(NamedTuple):
    """``newest``: of two entities, as recorded. ``code``: of the API. ``written``: of images.

    ``source`` and ``over``: the lock file of the last release, and whether its deployment is over.
    """

    newest: tuple[int, int] = (1, 1)
    source: int = 1
    over: bool = True
    check: int = 1  # the lock file of the last check
    consumers: int = 1
    code: int = 1
    written: int = 1
    # The stack: the lock file that it goes back to, and the update that is under way.
    stable: int = 1
    target: int = 1
    chosen: int = 1
    step: str = "over"
    goes_back: bool = False
    succeeded: bool = True
    current: Attempt | None = None
    late: tuple[Attempt, ...] = ()


def list_steps(state: State, without: str) -> Iterator[Step[State]]:
    """What may happen next."""
    yield from _list_stack_steps(state, without)
    yield from _list_failures(state, without)
    if state.current:
        for action, after, attempt in _list_attempt_steps(state, state.current, without):
            step = "open" if attempt else "api" if action.endswith("recorded") else "failed"
            yield action, after._replace(current=attempt, step=step)
    for place, each in enumerate(state.late):
        others = state.late[:place] + state.late[place + 1 :]
        for action, after, attempt in _list_attempt_steps(state, each, without):
            late = tuple(sorted((*others, attempt))) if attempt else others
            yield f"late: {action}", after._replace(late=late)
    if state.written < state.code:
        yield f"the API writes generation {state.code}", state._replace(written=state.code)
    first = state.newest[0]
    if state.over and state.written < first <= state.consumers:
        yield f"a rebuild touches to generation {first}", state._replace(written=first)


def _list_stack_steps(state: State, without: str) -> Iterator[Step[State]]:
    name = _get_name(state)
    refused = max(state.newest) > state.target and without != "generations compared"
    match state.step:
        case "over" if state.stable < NEWEST:
            begun = state._replace(target=state.stable + 1, step="begun", goes_back=False)
            yield f"an update to {begun.target} begins", begun._replace(succeeded=False)
        case "begun":
            yield f"{name}: check begins", _fence(state)
        case "check" if refused and not state.goes_back:
            yield f"{name}: refused", state._replace(step="over")
        case "check":
            newer = refused and without != "newer ledger for older code"
            chosen = state.source if newer else state.target
            checked = state._replace(chosen=chosen, step="consumers")
            yield f"{name}: check gives lock file {chosen}", checked
        case "consumers":
            yield f"{name}: consumers", state._replace(consumers=state.chosen, step="open")
        case "open" if state.current is None and (state.chosen != state.target or refused):
            yield f"{name}: open does nothing", state._replace(step="api")
        case "open" if state.current is None:
            yield f"{name}: open is sent", state._replace(current=Attempt(state.target))
        case "api":
            yield f"{name}: API", state._replace(code=state.target, step="finish")
        case "finish":
            ended = state._replace(over=state.over or state.source == state.target, step="over")
            succeeded = ended._replace(stable=state.target, succeeded=not state.goes_back)
            yield f"{name}: over", succeeded
        case "failed" if state.goes_back:
            yield f"{name}: the operator skips open", state._replace(step="api")


def _fence(state: State) -> State:
    """A check begins: it overtakes all invocations of `open`."""
    late = tuple(
        each._replace(overtaken=each.overtaken or each.ledger == state.target)
        if each.step == "sent"
        else each._replace(overtaken=True)
        for each in state.late
    )
    return state._replace(check=state.target, late=late, step="check")


def _list_failures(state: State, without: str) -> Iterator[Step[State]]:
    name = _get_name(state)
    if state.step in ("over", "begun", "check", "failed" if state.goes_back else ""):
        return
    after = state._replace(step="failed", current=None)
    if not state.goes_back:
        after = after._replace(target=state.stable, step="begun", goes_back=True)
    yield f"{name}: fails", after
    if state.current and len(state.late) < MAX_LATE:
        late = tuple(sorted((*state.late, state.current)))
        yield f"{name}: fails, open runs on", after._replace(late=late)
        if without == "checked again":
            repeated = state._replace(current=None, late=late)
            yield f"{name}: open runs on, and is repeated without a check", repeated


def _get_name(state: State) -> str:
    return f"{'back to' if state.goes_back else 'update to'} {state.target}"


def _list_attempt_steps(
    state: State, attempt: Attempt, without: str
) -> Iterator[tuple[str, State, Attempt | None]]:
    """What an invocation of `open` may do: the action, what follows, and the invocation then."""
    name = f"open {attempt.ledger}"
    match attempt.step:
        case "sent" if attempt.overtaken and without != "begins in time":
            return
        case "sent" if state.check != attempt.ledger and without != "own check":
            yield f"{name} is refused", state, None
        case "sent":
            yield f"{name} begins", state, attempt._replace(step="begun", overtaken=False)
        case "begun" if max(state.newest) > attempt.ledger and without != "generations compared":
            yield f"{name} is refused", state, None
        case "begun":
            yield f"{name} reads", state, attempt._replace(step="read", newest=state.newest)
        case _:
            after = _transact(state, attempt, without)
            if after is None:
                yield f"{name}: a transaction is refused", state, None
            elif attempt.step == "read":
                yield f"{name}: first transaction", after, attempt._replace(step="half")
            else:
                yield f"{name} is recorded", after, None


def _transact(state: State, attempt: Attempt, without: str) -> State | None:
    """The state after the next transaction; None if it is refused."""
    if attempt.overtaken and without != "fence":
        return None
    place = 0 if attempt.step == "read" else 1
    newest = list(state.newest)
    if attempt.newest[place] < attempt.ledger:
        if newest[place] != attempt.newest[place]:
            return None
        newest[place] = attempt.ledger
    after = state._replace(newest=(newest[0], newest[1]))
    has_record = place == (1 if without == "record first" else 0)
    return after._replace(source=attempt.ledger, over=False) if has_record else after


def is_wrong(state: State) -> bool:
    """Whether the stream stops, or rebuilds wait for good."""
    waits = state.step == "over" and state.succeeded and not state.over
    return state.consumers < state.written or waits


class First(NamedTuple):
    """The first release. ``items``: of two entities: none, right, or new (although it is not)."""

    recorded: bool = False
    items: tuple[str, str] = ("", "")
    step: int = 0
    read: bool = False


def list_first_steps(state: First, without: str) -> Iterator[Step[First]]:
    """What may happen next."""
    yield "open is killed, and repeated", state._replace(step=0, read=state.recorded)
    if state.step < len(state.items):
        items = list(state.items)
        items[state.step] = items[state.step] or ("new" if state.read else "right")
        is_last = state.step == len(items) - 1
        has_record = is_last or without == "first record last"
        written = state._replace(items=(items[0], items[1]), step=state.step + 1)
        yield "a transaction", written._replace(recorded=state.recorded or has_record)


MODEL = Model(
    27,
    {
        "generations compared": "a lock file is refused if it lacks a recorded generation",
        "newer ledger for older code": "code that goes back gets the newer lock file",
        "fence": "a transaction of open is refused if another check began since open did",
        "own check": "open is refused if the last check is of another release",
        "record first": "the record is in the first transaction",
        "first record last": "in the last one if there is none yet",
    },
    {
        "begins in time": "Lambda begins an invocation of open before its release is checked again",
        "checked again": "an update that is repeated while open runs begins with its check",
    },
    (
        Space(First(), list_first_steps, lambda state: "new" in state.items),
        Space(State(), list_steps, is_wrong),
    ),
)
