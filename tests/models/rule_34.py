"""Rule 34: nobody reads an instance that is disabled, and nothing of it is left after its purge.

Lock file 2 derives the instance, and code with it reads the instance. Lock file 3 disables it, so
its stream consumers skip it. A release of each may begin at any time, fail, and be repeated. A
step `open` of lock file 2 that CloudFormation has given up may run on, and so may invocations of
stream consumers. The entity may have no backfill item yet. Then `check` records the instance in
another item.

Wrong: a query is answered by the instance although a record has passed without it.

In a second space a purge begins when the deployment of lock file 3 is over. Wrong: the instance
is recorded as purged, and there is a row of it.

Time: as in rules 26 and 30. A reader keeps a backfill item for 2 ticks, and `check` waits for 3.
Invocations of the earlier consumers run for up to 2 ticks, and the settle time is 3.

Not modelled: the clock of a reader (`rule_26`); several entities and instances; what a lock file
refuses (an instance that was disabled is not declared again, and not disabled before its
successor is complete); a release of lock file 3 that succeeds; slots and totals, which are purged
like rows; the first pass of a purge, and a rebuild, for which a purge waits; a step `open` that
begins late (`rule_27`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.engine import Model, Space, Step

CACHE, READERS_KNOW = 2, 3
FUNCTION, SKEW = 2, 1
SETTLE = FUNCTION + SKEW


class Stage(NamedTuple):
    """What the table says. ``item``: of the entity: absent, usable, or disabled.

    ``listed``: the other item lists the instance.
    """

    item: str = "absent"
    listed: bool = False


class State(NamedTuple):
    """``waited``: ticks since a check began to wait. ``cached``: what a reader knows, or "".

    ``late_open`` and ``late_check``: what a step has read that runs on. ``overtaken``: the former.
    """

    stage: Stage = Stage()
    step: str = "over"
    read: Stage | None = None  # by the check or the open of the release
    late_open: Stage | None = None
    overtaken: bool = False
    late_check: Stage | None = None
    skips: bool = False  # an invocation of consumers with lock file 3 may run
    answers: bool = False  # an API with lock file 2 is deployed
    waited: int = 0
    cached: str = ""
    age: int = 0
    missed: bool = False
    wrong: bool = False


def list_steps(state: State, without: str) -> Iterator[Step[State]]:
    """What may happen next."""
    waited = min(state.waited + 1, READERS_KNOW) if state.step == "waits" else 0
    age = min(state.age + 1, CACHE) if state.cached else 0
    yield "a tick", state._replace(waited=waited, age=age)
    if state.skips:
        yield "a record passes without the instance", state._replace(missed=True)
    yield from _list_release_steps(state, without)
    if state.late_open:
        is_fenced = state.overtaken and without != "fence"
        opened = (not is_fenced and _open(state, state.late_open, without)) or state
        yield "late: open 2 writes", opened._replace(late_open=None)
    if state.late_check:
        checked = _check(state, state.late_check, without)
        yield "late: check 3 writes", state._replace(stage=checked.stage, late_check=None)
    if state.answers:
        yield from _list_reader_steps(state, without)


def _list_release_steps(state: State, without: str) -> Iterator[Step[State]]:
    over = state._replace(step="over", read=None, waited=0)
    fenced = state._replace(overtaken=True)
    is_late = without == "check before it reads"
    match state.step:
        case "over":
            yield "check 3 begins", (state if is_late else fenced)._replace(step="check")
            yield "check 2 begins", fenced._replace(step="consumers 2")
        case "check" if state.read is None:
            yield "check 3 reads", state._replace(read=state.stage)
        case "check" if state.read:
            yield "check 3 writes", _check(fenced if is_late else state, state.read, without)
            if state.late_check is None:
                yield "the release fails, check 3 runs on", over._replace(late_check=state.read)
        case "waits" if state.waited >= READERS_KNOW:
            yield "check 3 is over", state._replace(step="checked", waited=0)
        case "checked":
            yield "consumers 3 are deployed", state._replace(step="over", skips=True)
        case "consumers 2":
            yield "consumers 2 are deployed", state._replace(step="open")
        case "open" if state.read is None:
            yield "open 2 reads", state._replace(read=state.stage)
        case "open" if state.read:
            opened = _open(state, state.read, without)
            yield "open 2 writes", opened._replace(step="API", read=None) if opened else over
            if state.late_open is None:
                late = over._replace(late_open=state.read, overtaken=False)
                yield "the release fails, open 2 runs on", late
        case "API":
            yield "the API with lock file 2 is deployed", over._replace(answers=True)
    if state.step != "over":
        yield "the release fails", over


def _check(state: State, read: Stage, without: str) -> State:
    """The state after the write of `check`."""
    after = state._replace(read=None, step="checked")
    if read.item == "absent":
        listed = state.stage.listed or without != "recorded without an item"
        return after._replace(stage=state.stage._replace(listed=listed))
    if without == "recorded":
        return after
    waits = without != ("check waits" if read.item == "usable" else "waits again")
    recorded = after._replace(stage=state.stage._replace(item="disabled"))
    return recorded._replace(step="waits", waited=0) if waits else recorded


def _open(state: State, read: Stage, without: str) -> State | None:
    """The state after the write of `open`; None if it is refused."""
    if read.item != "absent":
        return state
    if state.stage.item != "absent":
        return None
    is_disabled = read.listed and without != "taken over"
    item = "disabled" if is_disabled else "usable"
    return state._replace(stage=state.stage._replace(item=item))


def _list_reader_steps(state: State, without: str) -> Iterator[Step[State]]:
    is_recent = bool(state.cached) and (state.age < CACHE or without == "age")
    if not is_recent:
        state = state._replace(cached=state.stage.item, age=0)
    may_answer = state.cached != "disabled" or without == "readers look"
    action = "a query, by what is cached" if is_recent else "a query"
    yield action, state._replace(wrong=may_answer and state.missed)


class Purge(NamedTuple):
    """``age``: ticks since the deployment ended. ``row``: whether the instance has one."""

    age: int = SETTLE
    row: bool = True
    step: str = "deployment"


def list_purge_steps(state: Purge, without: str) -> Iterator[Step[Purge]]:
    """What may happen next."""
    yield "a tick", state._replace(age=min(state.age + 1, SETTLE))
    if state.step == "deployment":
        yield "the deployment ends", state._replace(age=0, step="waiting")
    if state.step == "deployment" or state.age < FUNCTION or without == "skipped":
        yield "a row is derived", state._replace(row=True)
    early = SKEW + 1 if without == "clocks agree" else SKEW
    if state.step == "waiting" and (state.age >= SETTLE - early or without == "settle"):
        yield "a pass begins", state._replace(step="passing")
    if state.step == "passing" and state.row:
        yield "the pass deletes the row", state._replace(row=False, step="waiting")
    if state.step == "passing" and not state.row:
        yield "the pass finds nothing", state._replace(step="purged")


MODEL = Model(
    34,
    {
        "recorded": "check records what its lock file disables, before consumers change",
        "recorded without an item": "also of an entity without a backfill item",
        "taken over": "open takes it over into the backfill item that it creates",
        "fence": "a transaction of open is refused if another check began since open did",
        "check before it reads": "a check records that it begins before it reads",
        "check waits": "check waits READERS_KNOW after it has written",
        "waits again": "it waits too if another check has written that",
        "readers look": "readers look at the backfill item of an instance that retires",
        "age": "a reader uses a backfill item for STATE_CACHE",
        "skipped": "no code with lock file 3 derives the instance",
        "settle": "a pass that proves begins the settle time after the deployment",
    },
    {
        "clocks agree": "clocks of two functions differ by less than the settle time's reserve",
    },
    (
        Space(Purge(), list_purge_steps, lambda state: state.step == "purged" and state.row),
        Space(State(), list_steps, lambda state: state.wrong),
    ),
)
