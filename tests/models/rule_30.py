"""Rule 30: a pass over the table proves that no item of an older generation is left.

One item, one rebuild that repeats its passes, one function instance of code that was rolled back.
It announces what it writes: it counts in ``older_seen``, and lowers ``oldest`` if that is high.
In a second space there is code of before a deployment instead, which announces nothing.

Wrong: readers rely on the newer generation, and the item is of the older one.

Time: a lease is 2 ticks, a request takes up to 2 ticks, and the rebuild waits for 5 from the
reading of ``older_seen`` to its pass. Every clock of the writer is the age that it gives to the
announcement. Between requests the instance may be frozen, so that its monotonic clock stands
still. Its wall clock may be set back.

Not modelled: several items, and what is between two pages of a pass (a page is saved after its
touches); the first pass, which proves nothing; a rebuild whose steps are killed; another release
meanwhile; more than three announcements; a write whose connection outlives its process; a second
instance, whose announcements are counted in the same number; a snapshot that is restored, whose
announcement does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.engine import Model, Space, Step

LEASE, REQUEST, SKEW = 2, 2, 1
QUIET = LEASE + REQUEST + SKEW
FUNCTION = 2
SETTLE = FUNCTION + SKEW
MAX_SEEN = 3
FUTURE = -1
"""The age of an announcement by a wall clock that was set back to before it."""


class State(NamedTuple):
    """``item``: its generation. ``monotonic`` and ``wall``: ages of the announcement, capped."""

    oldest: int = 1
    seen: int = 0
    item: int = 1
    # The writer: idle, announcing, lowering, answered or writing; ``spent``: age of its request.
    writer: str = "idle"
    spent: int = 0
    announced: bool = False
    monotonic: int = 0
    wall: int = 0
    slow: str = ""  # which of the two clocks has counted too little since the announcement
    # The rebuild: waiting, passing, proving or done.
    rebuild: str = "waiting"
    waited: int = QUIET
    read: int = 0


def list_steps(state: State, without: str) -> Iterator[Step[State]]:
    """What may happen next."""
    yield from _list_ticks(state, without)
    yield from _list_writer_steps(state, without)
    yield from _list_rebuild_steps(state, without)


def _list_ticks(state: State, without: str) -> Iterator[Step[State]]:
    is_idle = state.writer == "idle"
    passed = state._replace(
        waited=min(state.waited + 1, QUIET),
        wall=state.wall if state.wall == FUTURE else min(state.wall + 1, LEASE),
    )
    if is_idle or state.spent < REQUEST:
        yield (
            "a tick",
            passed._replace(
                monotonic=min(state.monotonic + 1, LEASE),
                spent=0 if is_idle else state.spent + 1,
            ),
        )
    is_one_right = without != "one clock is right"
    if (is_idle or without == "frozen between requests") and not (
        is_one_right and state.slow == "wall"
    ):
        yield "a tick, frozen", passed._replace(slow="monotonic")
    yield "the wall clock is set back, far", state._replace(wall=FUTURE)
    if state.wall > 0 and not (is_one_right and state.slow == "monotonic"):
        yield "the wall clock is set back", state._replace(wall=state.wall - 1, slow="wall")


def _list_writer_steps(state: State, without: str) -> Iterator[Step[State]]:
    match state.writer:
        case "idle" if _is_leased(state, without):
            yield "a leased request begins", state._replace(writer="writing", spent=0)
        case "idle" if state.seen < MAX_SEEN:
            yield "an announcement is sent", _announce(state)
        case "announcing" if state.seen < MAX_SEEN:
            counted = state._replace(seen=state.seen + 1)
            yield "an announcement is counted, its answer is lost", counted
            following = "answered" if state.oldest == 1 else "lowering"
            yield "an announcement is counted", counted._replace(writer=following)
        case "lowering":
            lowered = state._replace(oldest=1, writer="answered", spent=0)
            yield "oldest is lowered", lowered
        case "answered":
            yield "the answer arrives", _finish_announcing(state, without)
        case "writing":
            yield "generation 1 is written", state._replace(item=1, writer="idle", spent=0)
    if state.writer != "idle":
        yield "a request ends", state._replace(writer="idle", spent=0)


def _finish_announcing(state: State, without: str) -> State:
    """The lease began when the announcement was sent, so it may be over at the answer."""
    after = state._replace(announced=True, writer="writing", spent=0)
    if without == "lease from the sending":
        after = after._replace(monotonic=0, wall=0, slow="")
    if _is_leased(after, without) or without == "valid at its end":
        return after
    return _announce(state)


def _announce(state: State) -> State:
    return state._replace(
        writer="announcing", announced=False, spent=0, monotonic=0, wall=0, slow=""
    )


def _is_leased(state: State, without: str) -> bool:
    return (
        state.announced
        and (without == "monotonic clock" or state.monotonic < LEASE)
        and (without == "wall clock" or state.wall < LEASE)
        and (without in ("clock set back", "wall clock") or state.wall >= 0)
    )


def _list_rebuild_steps(state: State, without: str) -> Iterator[Step[State]]:
    restarted = state._replace(rebuild="waiting", waited=0, read=state.seen)
    match state.rebuild:
        case "waiting" if state.waited >= _get_wait(without, QUIET) or without == "quiet":
            yield "a pass begins", state._replace(rebuild="passing")
        case "passing":
            if state.item == 1:
                proving = state._replace(rebuild="proving")
                after = proving if without == "finds nothing" else restarted
                yield "the pass touches the item", after._replace(item=2)
                yield "the pass finds the item, and its touch is refused", after
            if state.item == 2 or without == "consistent":
                yield "the pass finds nothing", state._replace(rebuild="proving")
        case "proving" if state.read == state.seen or without == "seen unchanged":
            yield "the rebuild completes", state._replace(oldest=2, rebuild="done", waited=0)
        case "proving":
            yield "the rebuild begins again", restarted
        case "done":
            yield "another rebuild begins", restarted


def _get_wait(without: str, wait: int) -> int:
    """The shortest wait: the clocks of two functions differ, so it may end early."""
    return wait - (2 * SKEW if without == "clocks agree" else SKEW)


def is_wrong(state: State | Deployment) -> bool:
    """Whether readers rely on generation 2, and the item is of generation 1."""
    return state.oldest == 2 and state.item == 1


class Deployment(NamedTuple):
    """A deployment: opened, or finished since ``age``. ``deployed``: whether that is recorded."""

    oldest: int = 1
    item: int = 1
    finished: bool = False
    age: int = SETTLE
    deployed: bool = True
    rebuild: str = "none"


def list_deployment_steps(state: Deployment, without: str) -> Iterator[Step[Deployment]]:
    """What may happen next."""
    yield "a tick", state._replace(age=min(state.age + 1, SETTLE))
    if not state.finished or state.age < FUNCTION:
        yield "code of before writes generation 1", state._replace(item=1)
    if state.rebuild == "none":
        removed = without != "time of deployment removed"
        yield "generation 2 is opened", state._replace(rebuild="waiting", deployed=not removed)
    elif not state.finished:
        yield "the deployment ends", state._replace(finished=True, age=0, deployed=True)
    settled = state.age >= _get_wait(without, SETTLE) or without == "settle"
    if state.rebuild == "waiting" and state.deployed and settled:
        yield "a pass begins", state._replace(rebuild="passing")
    if state.rebuild == "passing" and state.item == 1:
        yield "the pass touches the item", state._replace(item=2, rebuild="waiting")
    if state.rebuild == "passing" and state.item == 2:
        yield (
            "the pass finds nothing, and the rebuild completes",
            state._replace(oldest=2, rebuild="done"),
        )


MODEL = Model(
    30,
    {
        "monotonic clock": "a lease ends when the monotonic clock says so",
        "wall clock": "a lease ends when the wall clock says so",
        "clock set back": "a lease ends when the wall clock is before the announcement",
        "lease from the sending": "a lease is counted from before its announcement is sent",
        "valid at its end": "what is announced for longer than a lease is announced again",
        "quiet": "a pass begins QUIET after older_seen was read",
        "consistent": "the pass reads consistently",
        "finds nothing": "only a pass that finds nothing proves",
        "seen unchanged": "oldest is raised only if older_seen is as read before the pass",
        "settle": "a pass begins the settle time after a deployment",
        "time of deployment removed": "a release removes the time of the last one first",
    },
    {
        "one clock is right": "the clocks do not both count too little since an announcement",
        "frozen between requests": "a writer is not stopped between its lease and its write",
        "clocks agree": "clocks of two functions differ by less than the reserve of the waits",
    },
    (Space(Deployment(), list_deployment_steps, is_wrong), Space(State(), list_steps, is_wrong)),
)
