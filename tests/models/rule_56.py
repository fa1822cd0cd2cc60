"""Rule 56: after a dismissal, derived state is that of the base item, whatever other code did.

There is one item in one shard. Its image is absent, good (``g``), bad (``b``) or bad with a valid
mark (``m``), which derives nothing. Code 2 computes a bad image, code 1 does not. Stream consumers
have code 1 or code 2 from record to record, as deployments go both ways, and records may be
repeated. Instead of a repeat, an attempt with code 2 may announce its record and be abandoned: its
writes arrive later.
A redrive has code 2, and a dismissal has code 1. Either may stop between two steps.

Wrong: everything is handled, and the row of an image is there, or missing, contrary to the base
item; or a tally is wrong and is not on the list of recounts.

Not modelled: several items; numbers of slots that expire; discarded records; restores; limits of a
transaction; a code before this rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.models.engine import Model, Space, Step

ABSENT, GOOD, BAD, MARKED = "-", "g", "b", "m"
FLAGGED = "f"
"""A good image that kept a flag: code takes it for empty, and it is not."""
WRITES = 2
"""Writes of the item. `make models` explores three, with many times as many states."""
DERIVING = (GOOD, BAD)
"""The images that derive a row, and add one to a tally, of their own."""
OPEN, UNCERTAIN, DONE = "open", "uncertain", "done"


class Row(NamedTuple):
    """A row, or its tombstone. ``number``: of the record that wrote it, 0 for none."""

    is_there: bool = False
    number: int = 0


class Dismissal(NamedTuple):
    """``image``: the base item as read. ``claims``: of the run, as read; first is number ``first``.

    ``rows``: the images whose rows were read.
    """

    step: str = "idle"
    image: str = ABSENT
    first: int = 0
    claims: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()


IDLE = Dismissal()


class State(NamedTuple):
    """``records``: old and new image of each. ``handled``: how many the consumers have passed.

    ``claims``: the state of each record's claim, or "". ``counted``: the number of the last record
    that the slot counted. ``redrive``: the claim's number, the image as read and the next step.
    ``late``: a dismissal that was killed, whose last request may still arrive. ``announced``: the
    record of an abandoned attempt; ``abandoned`` until its writes have arrived. ``disagree``: code
    2 has processed a bad image.
    """

    image: str = ABSENT
    records: tuple[str, ...] = ()
    handled: int = 0
    claims: tuple[str, ...] = ()
    rows: tuple[Row, Row] = (Row(), Row())
    tallies: tuple[int, int] = (0, 0)
    counted: int = 0
    is_listed: bool = False
    redrive: tuple[int, str, str] = (0, "", "")
    dismissal: Dismissal = IDLE
    late: Dismissal = IDLE
    announced: int = 0
    abandoned: bool = False
    disagree: bool = False
    writes: int = 0
    repeats: int = 0
    stops: int = 0


def list_steps(state: State, without: str) -> Iterator[Step[State]]:
    """What may happen next."""
    yield from _list_writes(state, without)
    following = state.handled + 1
    if following <= len(state.records):
        for code in (1, 2):
            after = _handle(state, following, code)
            yield f"code {code} handles {following}", after._replace(handled=following)
        if state.repeats == 0 and not state.claims[following - 1]:
            announced = state._replace(announced=following, abandoned=True, repeats=1)
            yield f"code 2 announces {following} and is abandoned", announced
    if state.abandoned:
        written = _count_record(state, state.announced)._replace(abandoned=False)
        yield f"late: code 2 writes {state.announced}", written
    if state.repeats == 0:
        for number in range(1, state.handled + 1):
            for code in (1, 2):
                after = _handle(state, number, code)
                yield f"code {code} repeats {number}", after._replace(repeats=1)
    yield from _list_redrive_steps(state, without)
    yield from _list_dismissal_steps(state, without)


def is_wrong(state: State) -> bool:
    """Whether everything is handled, and derived state differs from that of the base item."""
    if state.handled < len(state.records) or set(state.claims) & {OPEN, UNCERTAIN}:
        return False
    if state.abandoned or state.redrive[0] or state.dismissal != IDLE or state.late != IDLE:
        return False
    image = GOOD if state.image == FLAGGED else state.image
    expected = tuple(int(image == name) for name in DERIVING)
    if tuple(int(row.is_there) for row in state.rows) != expected:
        return True
    if state.is_listed:  # nothing is listed with one code; what is listed is recounted
        return not state.disagree
    return state.tallies != expected


def _list_writes(state: State, without: str) -> Iterator[Step[State]]:
    if state.writes == WRITES:
        return
    for image in (GOOD, BAD, ABSENT):
        if image == state.image != BAD:
            continue
        # A digest fits no changed item.
        stays = without == "digest" and state.image == MARKED and image != ABSENT
        written = {GOOD: FLAGGED, BAD: MARKED}[image] if stays else image
        yield f"write {image}", _write(state, written)._replace(writes=state.writes + 1)


def _write(state: State, image: str) -> State:
    return state._replace(
        image=image,
        records=(*state.records, f"{state.image}{image}"),
        claims=(*state.claims, ""),
    )


def _computes(code: int, images: str) -> bool:
    return code == 2 or BAD not in images


def _handle(state: State, number: int, code: int) -> State:
    """A stream consumer handles a record: it claims it, or writes rows and then the slot."""
    images = state.records[number - 1]
    if state.claims[number - 1]:
        return state
    if not _computes(code, images):
        is_announced = number <= max(state.handled, state.announced)
        return _set_claims(state, number, (UNCERTAIN if is_announced else OPEN,))
    return _count_record(state, number)


def _count_record(state: State, number: int) -> State:
    """The writes of an attempt that computes a record."""
    images = state.records[number - 1]
    state = _write_rows(state, images[1], images[0], number)
    state = state._replace(disagree=state.disagree or BAD in images)
    if state.counted >= number:
        return state
    return _count(state, images[0], images[1])._replace(counted=number)


def _set_claims(state: State, first: int, claims: Sequence[str]) -> State:
    before, after = state.claims[: first - 1], state.claims[first - 1 + len(claims) :]
    return state._replace(claims=(*before, *claims, *after))


def _write_rows(state: State, image: str, removed: str, number: int) -> State:
    """Put the row of an image, and tombstones for those of other images, if numbers are lower."""
    good, bad = (
        Row(name == image, number)
        if row.number < number and (name == image or name in removed)
        else row
        for name, row in zip(DERIVING, state.rows, strict=True)
    )
    return state._replace(rows=(good, bad))


def _count(state: State, old: str, new: str) -> State:
    good, bad = (
        tally + (new == name) - (old == name)
        for name, tally in zip(DERIVING, state.tallies, strict=True)
    )
    return state._replace(tallies=(good, bad))


def _list_redrive_steps(state: State, without: str) -> Iterator[Step[State]]:
    number, image, step = state.redrive
    if not number:
        is_locked = state.dismissal.step != "idle" and without != "lock"
        if state.stops == 0 and not is_locked:
            for claimed in [n for n, claim in enumerate(state.claims, 1) if claim == OPEN][:1]:
                yield (
                    "a redrive begins",
                    state._replace(redrive=(claimed, state.image, "rows"), stops=1),
                )
        return
    over = state._replace(redrive=(0, "", ""))
    images = state.records[number - 1]
    if step == "rows":
        removed = "".join(name for name in images if name != image)
        written = _write_rows(state, image, removed, number)
        yield "the redrive writes rows", written._replace(redrive=(number, image, "claim"))
    elif state.claims[number - 1] == OPEN:
        counted = _count(over, images[0], images[1])._replace(disagree=True)
        yield "the redrive finishes its claim", _set_claims(counted, number, (DONE,))
    else:
        yield "the redrive is refused", over


def _list_dismissal_steps(state: State, without: str) -> Iterator[Step[State]]:
    run, is_redriven = state.dismissal, bool(state.redrive[0]) and without != "lock"
    match run.step:
        case "idle":
            if not is_redriven and set(state.claims) & {OPEN, UNCERTAIN}:
                yield "a dismissal reads the item", _continue(state, "read", image=state.image)
        case "read" | "marked":
            yield from _list_first_steps(state, without)
        case "taken":
            if state.abandoned and UNCERTAIN in run.claims and without != "settle time":
                return
            is_bad = state.image == BAD and without not in ("mark", "read again")
            image = run.image if without == "read again" else state.image
            yield (
                "it reads the item again",
                (
                    _continue(state, "read", image=state.image, first=0, claims=())
                    if is_bad
                    else _continue(state, "rows", image=image, rows=_list_rows(state))
                ),
            )
        case "rows":
            number = run.first + len(run.claims) - 1 if without != "last number" else run.first
            removed = "".join(run.rows) if without != "other rows" else GOOD
            removed = "".join(name for name in removed if name != run.image)
            written = _write_rows(state, run.image.replace(BAD, MARKED), removed, number)
            yield "it writes rows", _continue(written, "claims")
        case "claims":
            yield (
                "it finishes its claims",
                _finish_run(state, run, without)._replace(dismissal=IDLE),
            )
            if state.late == IDLE:
                yield "it is killed", state._replace(dismissal=IDLE, late=run)
    if state.late != IDLE:
        finished = _finish_run(state, state.late, without)
        yield "late: it finishes its claims", finished._replace(late=IDLE)


def _list_first_steps(state: State, without: str) -> Iterator[Step[State]]:
    """A dismissal that has read the item marks it if it is bad, and takes a run."""
    run = state.dismissal
    if run.step == "read" and run.image == BAD and without != "mark":
        if state.image == BAD:
            yield "it marks the item", _continue(_write(state, MARKED), "marked")
        else:
            yield "the item has changed", _continue(state, "idle")
        return
    first, claims = _take_run(state, without)
    if not claims:
        yield "nothing is left", _continue(state, "idle")
    elif first:
        yield "it takes a run", _continue(state, "taken", first=first, claims=claims)


def _continue(state: State, step: str, **changed: object) -> State:
    if step == "idle":
        return state._replace(dismissal=Dismissal())
    return state._replace(dismissal=state.dismissal._replace(step=step, **changed))  # type: ignore[arg-type]


def _list_rows(state: State) -> tuple[str, ...]:
    """The images of which there is a row or a tombstone."""
    return tuple(name for name, row in zip(DERIVING, state.rows, strict=True) if row.number)


def _take_run(state: State, without: str) -> tuple[int, tuple[str, ...]]:
    """The number of the oldest claim and the claims of its run; 0 while a neighbour may come."""
    waiting = [n for n, claim in enumerate(state.claims, 1) if claim in (OPEN, UNCERTAIN)]
    if not waiting:
        return 0, ()
    first = last = waiting[0]
    while state.records[last - 1][1] == BAD and without != "whole run":
        if last == len(state.records) and without == "mark":
            break
        if last >= state.handled and without != "neighbours":
            return 0, (OPEN,)
        if last == len(state.records) or state.claims[last] not in (OPEN, UNCERTAIN):
            break
        last += 1
    return first, state.claims[first - 1 : last]


def _finish_run(state: State, run: Dismissal, without: str) -> State:
    """The state after the transaction of a run; the same if it is refused."""
    last = run.first + len(run.claims) - 1
    if state.claims[run.first - 1 : last] != run.claims and without != "as read":
        return state
    old, new = state.records[run.first - 1][0], state.records[last - 1][1]
    is_unknown = (BAD in (old, new) and without != "bad ends") or (
        UNCERTAIN in run.claims and without != "uncertain"
    )
    counted = _count(state, old.replace(BAD, ""), new.replace(BAD, ""))
    finished = _set_claims(counted, run.first, (DONE,) * len(run.claims))
    return finished._replace(is_listed=state.is_listed or is_unknown)


MODEL = Model(
    56,
    {
        "mark": "a bad base item is marked before its claims are dismissed",
        "digest": "the mark is valid for one image; it is not a flag that an edit keeps",
        "lock": "a redrive and a dismissal are never under way at once",
        "whole run": "the claims of a run are dismissed together, and its inner images cancel",
        "neighbours": "while the record after a bad image may be on its way, the run waits",
        "read again": "the base item is read again after the run is taken; a bad one is marked",
        "last number": "rows are written under the last number of the run",
        "other rows": "rows that are there and are not the base item's become tombstones",
        "as read": "the claims are as read when they are done",
        "bad ends": "if an end of the run is bad, the entity's tallies are recounted",
        "settle time": "while an attempt may write that announced an uncertain record, it waits",
        "uncertain": "if a claim is uncertain, the entity's tallies are recounted",
    },
    {},
    (Space(State(), list_steps, is_wrong),),
)
