"""Rule 32: a rebuild completes when what its passes touched is derived, and nothing is set aside.

Two items, each in a shard of its own. A pass reads one after the other and touches those of
generation 1. A pass that finds nothing is followed by heartbeats through both shards. Then
claims, the failure bucket and the list of recounts are read. The projector announces a batch of
one or two records, and then handles them: a record is derived, has a claim, or is in the failure
bucket, until a redrive. Once, code writes generation 1 without an announcement: for example an
alias of Lambda that names an older version with its older lock file. The projector looks at each
image of an older generation than the newest: if the base item still has it, it counts in
``older_seen``, and lowers ``oldest`` if that is high.

Wrong: readers rely on generation 2, and the instance lacks an item of it, or an item of
generation 1 is left whose record nobody will look at any more; or ``oldest`` is lowered although
there is no such item.

Time: none. A heartbeat orders the records of its shard, so no clock is read. Until the projector
has looked, readers may lack what was written without an announcement: for as long as the stream
is late.

Not modelled: shards that split (rule 31); kept parts (rule 33); a second write without an
announcement, and a second record that is set aside meanwhile; a touch between the two requests of
a look (it only causes a needless pass); a touch that is refused (`rule_30`); redrives that crash;
totals, which are rolled up before readers switch; a projector that does not know the newest
generation, which stops (rule 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.models.engine import Model, Space, Step

MAX_BATCH = 2


class Shard(NamedTuple):
    """An item, and its shard.

    ``included``: by the instance. ``queue``: records that are not handled: touch, older, heartbeat,
    or earlier (heartbeat of an earlier pass). ``batch``: how many of them are announced.
    ``aside``: where a record is that was set aside, and its kind.
    """

    generation: int = 1
    included: bool = False
    queue: tuple[str, ...] = ()
    batch: int = 0
    passed: bool = False
    aside: tuple[str, str] = ("", "")
    handled_older: bool = False


class State(NamedTuple):
    """``step``: of the rebuild. ``seen``: whether older_seen was counted since the pass began."""

    shards: tuple[Shard, Shard] = (Shard(), Shard())
    oldest: int = 1
    step: str = "item 0"
    found: bool = False
    seen: bool = False
    written: bool = False
    needless: bool = False


Changes = Callable[..., State]
"""The state with some values of one shard changed."""


def list_steps(state: State, without: str) -> Iterator[Step[State]]:
    """What may happen next."""
    yield from _list_rebuild_steps(state, without)
    for place, shard in enumerate(state.shards):

        def change(place: int = place, shard: Shard = shard, **values: object) -> State:
            shards = list(state.shards)
            shards[place] = shard._replace(**values)  # type: ignore[arg-type]
            return state._replace(shards=(shards[0], shards[1]))

        for action, after in _list_shard_steps(state, shard, change, without):
            yield f"shard {place}: {action}", after


def _list_shard_steps(
    state: State, shard: Shard, change: Changes, without: str
) -> Iterator[Step[State]]:
    if not state.written:
        queue = (*shard.queue, "older")
        after = change(generation=1, included=False, queue=queue)
        yield "generation 1 is written, unannounced", after._replace(written=True)
    if shard.batch == 0:
        for size in range(1, min(MAX_BATCH, len(shard.queue)) + 1):
            first = shard.queue[:size] if without == "low watermark" else shard.queue[:1]
            passed = shard.passed or "heartbeat" in first
            yield f"a batch of {size} is announced", change(batch=size, passed=passed)
    else:
        yield from _list_handled(shard, change, without)
    if shard.handled_older:
        yield "an older image is delivered again", _look(change(), shard, without)
    where, kind = shard.aside
    if where == "discarded":
        yield "the batch is in the failure bucket", change(aside=("bucket", kind))
    elif where in ("claim", "bucket"):
        included = shard.included or shard.generation == 2
        done = change(aside=("", ""), included=included)
        looks = kind == "older" and without != "redrive looks"
        yield f"the {where} is redriven", _look(done, shard, without) if looks else done
        if kind == "touch":
            yield f"the {where} is redriven, for a recount", change(aside=("recount", kind))


def _list_handled(shard: Shard, change: Changes, without: str) -> Iterator[Step[State]]:
    kind, queue, batch = shard.queue[0], shard.queue[1:], shard.batch - 1
    if kind in ("heartbeat", "earlier"):
        yield "a heartbeat is handled", change(queue=queue, batch=batch)
        return
    derived = change(
        queue=queue,
        batch=batch,
        included=kind == "touch" and shard.generation == 2,
        handled_older=shard.handled_older or kind == "older",
    )
    yield f"{kind} is derived", _look(derived, shard, without) if kind == "older" else derived
    if not any(each.aside[0] for each in derived.shards):
        for where in ("claim", "discarded" if without == "bucket in time" else "bucket"):
            yield (
                f"{kind} is set aside: {where}",
                change(queue=queue, batch=batch, aside=(where, kind)),
            )


def _look(state: State, shard: Shard, without: str) -> State:
    """The state after the projector, or a redrive, has looked at an image of generation 1."""
    if without == "projector looks" or (shard.generation == 2 and without != "base item"):
        return state
    if state.oldest == 1:
        return state if without == "counts" else state._replace(seen=True)
    needless = all(each.generation == 2 for each in state.shards)
    return state._replace(oldest=1, seen=True, step="item 0", needless=needless)


def _list_rebuild_steps(state: State, without: str) -> Iterator[Step[State]]:
    order = ["claim", "bucket", "recount"]
    if without == "recounts last":
        order = ["recount", "claim", "bucket"]
    match state.step:
        case "item 0" | "item 1":
            yield from _list_pass_steps(state, without)
        case "heartbeats":
            passed = [shard.passed for shard in state.shards]
            if without == "heartbeats" or (any if without == "every shard" else all)(passed):
                yield "heartbeats have passed", state._replace(step=order[0])
            elif not all("heartbeat" in each.queue or each.passed for each in state.shards):
                yield "heartbeats are sent again", _send(state)
        case "claim" | "bucket" | "recount":
            following = [*order, "complete"][order.index(state.step) + 1]
            if without == state.step or all(each.aside[0] != state.step for each in state.shards):
                yield f"no {state.step} is found", state._replace(step=following)
            else:
                yield f"a {state.step} blocks", state._replace(step=order[0])
        case "complete" if not state.seen or without == "seen unchanged":
            yield "the rebuild completes", state._replace(oldest=2, step="done")
        case "complete":
            yield "the rebuild begins again", _restart(state, without)


def _list_pass_steps(state: State, without: str) -> Iterator[Step[State]]:
    place = int(state.step[-1])
    shard, after = state.shards[place], state
    if shard.generation == 1:
        touched = shard._replace(generation=2, included=False, queue=(*shard.queue, "touch"))
        shards = (touched, state.shards[1]) if place == 0 else (state.shards[0], touched)
        after = state._replace(shards=shards, found=True)
    if place == 0:
        after = after._replace(step="item 1")
    else:
        after = (
            _restart(after, without) if after.found else _send(after._replace(step="heartbeats"))
        )
    yield f"the pass reads item {place}", after


def _restart(state: State, without: str) -> State:
    """Another pass: heartbeats of earlier ones do not count any more."""
    shards = state.shards
    if without != "heartbeats of the pass":
        shards = tuple(  # type: ignore[assignment]
            each._replace(
                passed=False,
                queue=tuple("earlier" if kind == "heartbeat" else kind for kind in each.queue),
            )
            for each in shards
        )
    return state._replace(shards=shards, step="item 0", found=False, seen=False)


def _send(state: State) -> State:
    first, second = (
        each
        if each.passed or "heartbeat" in each.queue
        else each._replace(queue=(*each.queue, "heartbeat"))
        for each in state.shards
    )
    return state._replace(shards=(first, second))


def is_wrong(state: State) -> bool:
    """See the module."""
    lacks = any(
        not each.included
        and (each.generation == 2 or ("older" not in each.queue and each.aside[1] != "older"))
        for each in state.shards
    )
    return state.needless or (state.oldest == 2 and lacks)


MODEL = Model(
    32,
    {
        "heartbeats": "heartbeats are waited for",
        "every shard": "in every shard",
        "low watermark": "a heartbeat has passed when the low watermark has reached it",
        "heartbeats of the pass": "heartbeats of an earlier pass do not count",
        "claim": "an open or uncertain claim blocks",
        "bucket": "a batch in the failure bucket blocks",
        "recount": "a tally on the list of recounts blocks",
        "recounts last": "claims, bucket and recounts are read in this order",
        "seen unchanged": "oldest is raised only if older_seen is as read before the pass",
        "projector looks": "the projector looks at images of generations before the newest",
        "redrive looks": "so does a redrive",
        "base item": "only a base item that still has the generation counts",
        "counts": "it is counted in older_seen also if oldest is low",
    },
    {
        "bucket in time": "a discarded batch is in the bucket before the next batch begins",
    },
    (Space(State(), list_steps, is_wrong),),
)
