"""Rule 28: no record of an entity that begins to derive is dropped by an earlier event filter.

The rule has two arguments, and a space for each.

By time: a release deploys a filter that knows the entity, its step `open` waits, sends
heartbeats, and records that the filter knows the entity. The release fails at any moment, goes
back to the filter before, and is repeated. The step of the first one may run on. A filter that
was replaced may be in use for 2 ticks, in any shard and in any order: then a reader may even
return to it. The step waits for 2 ticks from its beginning, which is after its filter was
deployed.

By heartbeats: one update takes as long as it likes, and there is no release that goes back. A
reader does not return to an earlier filter, and a child of a shard begins with the filter of its
parent.

Wrong: a record of the entity is dropped.

Time: the step measures its wait by sleeping, so nothing depends on what a clock shows.

Not modelled: records that wait to be read (the filter is that of the time of reading, which is
later); a table without items, whose first filter is in use at once; an operator who skips
`check`; more than two shards, and than three releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.engine import Model, Space, Step

SPREAD = 2
"""Ticks for which a filter that was replaced may be in use."""
SHARDS = (0, 1)
MAX_UPDATES, MAX_LATE = 5, 2
SENT = -1
NONE: frozenset[int] = frozenset()


class Opening(NamedTuple):
    """An invocation of `open`: the last check when it began, and the shards with a heartbeat.

    ``waited``: ticks; `SENT` until it begins. Until then, ``check`` is that of its own update.
    """

    check: int
    waited: int = SENT
    passed: frozenset[int] = NONE


class State(NamedTuple):
    """``updates``: ages of the filters; every second one knows the entity.

    ``checks``: how many; every second one is of a rollback.
    """

    updates: tuple[int, ...] = (0,)
    checks: int = 1
    recorded: bool = False
    step: str = "open"  # then API, or: checking, accepted, back, again
    seen: bool = False  # what the check of a rollback has read
    current: Opening | None = Opening(1)
    late: tuple[Opening, ...] = ()
    dropped: bool = False


def list_steps(state: State, without: str) -> Iterator[Step[State]]:
    """What may happen next."""
    limit = SPREAD + 1 if without == "spread" else SPREAD
    yield (
        "a tick",
        state._replace(
            updates=tuple(min(age + 1, limit) for age in state.updates),
            current=state.current and _wait(state.current),
            late=tuple(map(_wait, state.late)),
        ),
    )
    usable = _list_usable_filters(state.updates, limit)
    if state.step == "API":
        for version in usable:
            yield f"a record meets filter {version}", state._replace(dropped=version % 2 == 0)
    yield from _list_release_steps(state, without)
    if state.current:
        for action, opening, recorded in _list_opening_steps(state, state.current, usable, without):
            after = state._replace(current=opening, recorded=state.recorded or recorded)
            yield action, after._replace(step="API") if recorded else after
    for place, each in enumerate(state.late):
        for action, opening, recorded in _list_opening_steps(state, each, usable, without):
            late = state.late[:place] + ((opening,) if opening else ()) + state.late[place + 1 :]
            yield f"late: {action}", state._replace(late=late, recorded=state.recorded or recorded)


def _wait(opening: Opening) -> Opening:
    is_sent = opening.waited == SENT
    return opening if is_sent else opening._replace(waited=min(opening.waited + 1, SPREAD))


def _list_usable_filters(updates: tuple[int, ...], limit: int) -> list[int]:
    """The filters that may be in use: no later one was deployed too long ago. 0 is the first."""
    return [
        version
        for version in range(len(updates) + 1)
        if all(age < limit for age in updates[version:])
    ]


def _list_release_steps(state: State, without: str) -> Iterator[Step[State]]:
    stamped = state._replace(checks=state.checks + 1)
    is_late = without == "check before it reads"
    match state.step:
        case "open" | "API" if len(state.updates) < MAX_UPDATES:
            begun = state if is_late else stamped
            failed = begun._replace(step="checking", current=None, seen=state.recorded)
            yield "the release fails, and its rollback is checked", failed
            if state.current and len(state.late) < MAX_LATE:
                late = failed._replace(late=(*state.late, state.current))
                yield "the release fails, open runs on, and the rollback is checked", late
        case "checking":
            checked = stamped if is_late else state._replace(seen=state.recorded)
            if not checked.seen or without == "way back refused":
                yield "the rollback is accepted", checked._replace(step="accepted")
        case "accepted":
            deployed = state._replace(step="back", updates=(*state.updates, 0))
            yield "the earlier filter is deployed", deployed
        case "back":
            yield "the release is checked again", stamped._replace(step="again")
        case "again":
            opened = state._replace(step="open", current=Opening(state.checks))
            yield "its filter is deployed", opened._replace(updates=(*state.updates, 0))


def _list_opening_steps(
    state: State, opening: Opening, usable: list[int], without: str
) -> Iterator[tuple[str, Opening | None, bool]]:
    """What an invocation of `open` may do: the action, what is left of it, whether it records."""
    if opening.waited == SENT:
        if state.checks > opening.check + 1 and without != "begins in time":
            return
        if state.checks % 2 == 0 and without != "own check":
            yield "open is refused", None, False
        elif state.recorded:
            yield "open finds the filter recorded", None, True
        else:
            yield "open begins", opening._replace(waited=0, check=state.checks), False
    if opening.waited < (0 if without == "wait" else SPREAD):
        return
    if any(version % 2 for version in usable):
        for shard in SHARDS:
            yield (
                f"a heartbeat passes shard {shard}",
                opening._replace(passed=opening.passed | {shard}),
                False,
            )
    if opening.passed.issuperset(SHARDS):
        if opening.check == state.checks or without == "fence":
            yield "the filter is recorded", None, True
        else:
            yield "the record is refused", None, False


class Reader(NamedTuple):
    """Two shards: whether their readers use the new filter, and what has passed them."""

    new: tuple[bool, bool] = (False, False)
    passed: frozenset[int] = NONE
    split: bool = False
    recorded: bool = False
    dropped: bool = False


def list_reader_steps(state: Reader, without: str) -> Iterator[Step[Reader]]:
    """What may happen next."""
    for shard, is_new in enumerate(state.new):
        changed = list(state.new)
        changed[shard] = not is_new
        if not is_new or without == "no return":
            yield f"shard {shard} changes its filter", state._replace(new=(changed[0], changed[1]))
        if is_new or without == "entity named":
            yield f"a heartbeat passes shard {shard}", state._replace(passed=state.passed | {shard})
        if state.recorded:
            yield f"a record is in shard {shard}", state._replace(dropped=not is_new)
    if not state.split:
        inherited = state.new if without != "child inherits" else (state.new[0], False)
        yield "shard 1 splits", state._replace(split=True, new=inherited)
    enough = {"heartbeats": 0, "every shard": 1}.get(without, len(SHARDS))
    if len(state.passed) >= enough:
        yield "the filter is recorded", state._replace(recorded=True)


MODEL = Model(
    28,
    {
        "wait": "the first heartbeat is sent the spread time after the filter was deployed",
        "fence": "the filter is recorded only if no other check began since open did",
        "own check": "open is refused if the last check is of another release",
        "check before it reads": "a check records that it begins before it reads",
        "way back refused": "a check refuses to go back behind a filter that is recorded",
        "heartbeats": "heartbeats are waited for",
        "every shard": "in every shard",
        "entity named": "the filter passes heartbeats of its own entities only",
    },
    {
        "begins in time": "Lambda begins an invocation of open before its release is checked again",
        "spread": "a filter that was replaced is in use for the spread time at most",
        "no return": "if an update takes longer: a reader does not return to an earlier filter",
        "child inherits": "and a child of a shard begins with the filter of its parent",
    },
    (
        Space(Reader(), list_reader_steps, lambda state: state.dropped),
        Space(State(), list_steps, lambda state: state.dropped),
    ),
)
