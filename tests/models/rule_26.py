"""Rule 26: readers use only instances that include every item, and code that was rolled back waits.

Two function instances write generation 1. A reader of the newest code relies on the declared
instance, which only generation 2 derives, as long as ``oldest`` is 2. It keeps a backfill item
for 2 ticks. A writer that lowers ``oldest`` waits 3 ticks before it writes. `rule_30` shows when
a rebuild may complete: here it does if no writer has a lease or a request.

Wrong: a query that begins after a write of generation 1 is answered by the declared instance.

In a second space a client continues a list by a cursor. A release may disable the instance that
retires 3 ticks (24 hours) after the rebuild completed. Wrong: a page comes from another instance
than the page before, or the cursor is refused earlier.

Time: the reader's cache is as old as its wall clock says, counted from before the reading. The
clock may be set back: far, or in all by a tick for each reading.

Not modelled: a query that began before the write, and is answered later; several entities; a
release that lowers ``oldest`` (it waits like a writer, each time); a third instance; more than
two rebuilds; cursors that are older than 24 hours; clocks of two functions that differ by seconds
in 24 hours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.engine import Model, Space, Step

CACHE, READERS_KNOW, MAX_LATE = 2, 3, 1
MAX_AGE = CACHE + MAX_LATE + 1
MAX_RAISES = 2
NEW = -1
"""What an instance that has not announced yet knows."""
FUTURE = -1
"""The age of a reading by a wall clock that was set back to before it."""
KEPT = 3


class Writer(NamedTuple):
    """An instance: idle, counted (and lowers next), waiting or writing.

    ``known``: how often ``oldest`` had been raised at its last announcement. ``counted``: the same
    of the announcement that it is making.
    """

    name: str
    phase: str = "idle"
    waited: int = 0
    leased: bool = False
    known: int = NEW
    counted: int = 0


class State(NamedTuple):
    """``lacking``: an item of generation 1 exists. ``cached``: the reader's ``oldest``, or 0."""

    writers: tuple[Writer, ...] = (Writer("A"), Writer("B"))
    oldest: int = 2
    raises: int = 0
    lacking: bool = False
    cached: int = 0
    age: int = 0
    late: int = 0
    reads: str = ""  # sent or read: a reading is under way
    wrong: bool = False


def list_steps(state: State, without: str) -> Iterator[Step[State]]:
    """What may happen next."""
    waited = tuple(
        each._replace(waited=min(each.waited + 1, READERS_KNOW))
        if each.phase == "waiting"
        else each
        for each in state.writers
    )
    is_counted = state.age != FUTURE and (state.cached or state.reads)
    age = min(state.age + 1, MAX_AGE) if is_counted else state.age
    yield "a tick", state._replace(writers=waited, age=age)
    for place in range(len(state.writers)):
        yield from _list_writer_steps(state, place, without)
    may_complete = all(each.phase == "idle" and not each.leased for each in state.writers)
    if may_complete and state.oldest == 1 and state.raises < MAX_RAISES:
        raised = state._replace(oldest=2, raises=state.raises + 1, lacking=False)
        yield "a rebuild completes", raised
    yield from _list_reader_steps(state, without)


def _list_writer_steps(state: State, place: int, without: str) -> Iterator[Step[State]]:
    writer = state.writers[place]

    def change(**values: object) -> State:
        writers = list(state.writers)
        writers[place] = writer._replace(**values)  # type: ignore[arg-type]
        return state._replace(writers=tuple(writers))

    ready = {"leased": True, "known": writer.counted, "phase": "writing", "waited": 0, "counted": 0}
    match writer.phase:
        case "idle" if writer.leased:
            yield f"{writer.name} begins a request, leased", change(phase="writing")
            yield f"the lease of {writer.name} ends", change(leased=False)
        case "idle":
            counted: dict[str, object] = {"counted": state.raises}
            following = "lowering" if state.oldest == 2 else "waiting"
            if following == "waiting" and not _is_unknown(writer.known, state.raises, without):
                counted, following = {"leased": True, "known": state.raises}, "writing"
            yield f"{writer.name} announces", change(**{**counted, "phase": following})
        case "lowering":
            lowered = change(phase="waiting")._replace(oldest=1)
            yield f"{writer.name} lowers oldest", lowered
        case "waiting" if writer.waited >= READERS_KNOW or without == "lowering waits":
            yield f"{writer.name} has waited", change(**ready)
        case "writing":
            yield f"{writer.name} writes", change(phase="idle")._replace(lacking=True)
    if writer.phase != "idle":
        yield f"a request of {writer.name} ends", change(phase="idle", waited=0, counted=0)


def _is_unknown(known: int, raises: int, without: str) -> bool:
    """Whether readers may not know yet that ``oldest`` is low: another writer just lowered it."""
    if known == NEW:
        return without != "new instance waits"
    return known != raises and without != "waits again"


def _list_reader_steps(state: State, without: str) -> Iterator[Step[State]]:
    is_from_future = state.age == FUTURE and without != "clock set back"
    is_recent = state.age < CACHE or without == "age"
    if state.reads == "sent":
        yield "the backfill item is read", state._replace(reads="read", cached=state.oldest)
        if without == "consistent":
            yield "an earlier backfill item is read", state._replace(reads="read", cached=2)
    elif state.reads == "read":
        age = 0 if without == "age from before the reading" else state.age
        yield "the answer arrives", state._replace(reads="", age=age)
    elif without == "complete only":
        yield "a query is answered", state._replace(wrong=state.lacking)
    elif state.cached and is_recent and not is_from_future:
        wrong = state.cached == 2 and state.lacking
        yield "a query is answered by what is cached", state._replace(wrong=wrong)
    else:
        yield "a query begins", state._replace(reads="sent", cached=0, age=0, late=0)
    if state.cached:
        yield "the reader's clock is set back, far", state._replace(age=FUTURE)
    most = MAX_LATE + (without == "clock of the reader")
    if state.cached and state.age > 0 and state.late < most:
        later = state._replace(age=state.age - 1, late=state.late + 1)
        yield "the reader's clock is set back by a tick", later


class Cursor(NamedTuple):
    """A list that a client continues. ``since``: the switch, ``completed``: as it is recorded.

    ``begun``: the instance of the list; 0 without a list.
    """

    oldest: int = 1
    since: int = KEPT
    completed: int = KEPT
    is_recorded: bool = False
    disabled: bool = False
    begun: int = 0
    wrong: bool = False


def list_cursor_steps(state: Cursor, without: str) -> Iterator[Step[Cursor]]:
    """What may happen next."""
    passed = state._replace(
        since=min(state.since + 1, KEPT), completed=min(state.completed + 1, KEPT)
    )
    yield "a tick", passed
    answering = {1: 0 if state.disabled else 1, 2: 2}[state.oldest]
    if state.oldest == 1:
        renewed = not (state.is_recorded and without == "completed at each switch")
        completed = 0 if renewed else state.completed
        since = state.since if state.disabled else 0  # no reader leaves what is disabled
        switched = state._replace(oldest=2, since=since, completed=completed, is_recorded=True)
        yield "a rebuild completes", switched
    else:
        yield "older code lowers oldest", state._replace(oldest=1)
        if state.completed >= KEPT or without == "24 hours":
            yield "a release disables the instance that retires", state._replace(disabled=True)
    yield "a client begins a list", state._replace(begun=answering)
    if state.oldest == 2 and state.since < CACHE and not state.disabled:
        yield "a client begins a list, by a cached item", state._replace(begun=1)
    if not state.begun:
        return
    if without == "cursor names its instance" and answering:
        yield "the client continues", state._replace(wrong=answering != state.begun)
    elif state.begun == 1 and state.disabled:
        yield "the cursor is refused", state._replace(wrong=state.since < KEPT, begun=0)
    else:
        yield "the client continues", state


MODEL = Model(
    26,
    {
        "complete only": "a reader looks at the backfill item",
        "age": "a reader uses a backfill item for STATE_CACHE",
        "age from before the reading": "the age is counted from before the item was read",
        "clock set back": "an item from the future is read again",
        "consistent": "a backfill item is read consistently",
        "lowering waits": "a writer that lowers oldest waits READERS_KNOW",
        "new instance waits": "so does an instance that announces for the first time",
        "waits again": "so does an instance if oldest was raised since its last announcement",
        "cursor names its instance": "a cursor names the instance that answers it",
        "24 hours": "an instance is disabled 24 hours after readers switched",
        "completed at each switch": "each rebuild records when readers switched",
    },
    {
        "clock of the reader": "a clock is not set back by more than READERS_KNOW has in reserve",
    },
    (
        Space(Cursor(), list_cursor_steps, lambda state: state.wrong),
        Space(State(), list_steps, lambda state: state.wrong),
    ),
)
