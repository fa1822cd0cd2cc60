"""Requests about items that expire: changes that set, move and remove the ``ttl``.

The TTL process may delete an item before, while and after a request changes it. Each change of an
item is compared with what its declaration says, when it happens.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.testing.faults.code_versions import API_CALLER
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.oracle.expiry_rules import CHANGED_AT, render_instant
from tests.delivery.book_requests import BookRequests, Call, Races
from tests.delivery.expiring_entities import ARCHIVED, ENTITY_TYPES, RIGHT_TTLS, STAMPED

RACES = (("void", "put"), ("put", "void"), ("open", "put"), ("move", "void"), ("void", "delete"))
"""The requests that disturb each other most; the first one stops meanwhile."""
PAUSES_S = (60, 130, 200)
DAYS, SECONDS = (-1, 0, 0, 1), (-100, 15, 30, 120, 3_000)


class ExpiryRequests(BookRequests):
    """Draws requests about some entities, and about all of them together."""

    races: ClassVar[Mapping[str, Races]] = {}
    other_races: ClassVar[Races] = RACES
    pauses: ClassVar[float] = 0.25

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._times: defaultdict[SimulatedProcess | None, list[dt.datetime]] = defaultdict(list)
        self._first_versions: list[Image] = []

    def draw(self) -> tuple[str, Callable[[SimulatedProcess], None]]:
        """See `BookRequests.draw`. Before some requests time passes, in which items expire."""
        if self._choices.draw_bool(self.pauses):
            self._deployment.clock.advance(self._choices.pick(PAUSES_S))
        return super().draw()

    def find_differences(self) -> list[str]:
        """The wrong changes of items, in a line each."""
        return self._wrong

    def patch_book(self) -> AbstractContextManager[None]:
        """Nothing of the Book has to be that of a schedule."""
        return nullcontext()

    def _now(self) -> dt.datetime:
        """The time, to the microsecond: no two items are written at the same time."""
        now = super()._now()
        self._times[get_running_process()].append(now)
        return now

    def _draw_request(self, text: str) -> tuple[str, Call]:
        if self._prepared:
            return self._draw_request_for(*self._prepared.popleft(), text)
        if len(self._names) > 1 and self._choices.draw_bool(0.2):
            return self._draw_together(text)
        return self._draw_request_for(self._choices.pick(self._names, "entity"), "", "", text)

    def _draw_request_for(self, name: str, id: str, verb: str, text: str) -> tuple[str, Call]:
        """A request about an entity; ``id`` and ``verb`` are drawn if they are empty."""
        pick = self._choices.pick
        entity: Any = ENTITY_TYPES[name]
        id = id or pick(self._ids)
        now = self._deployment.clock.now()
        due = pick((None, *((now + dt.timedelta(days=day)).date() for day in DAYS)))
        at = pick((None, *(now + dt.timedelta(seconds=seconds) for seconds in SECONDS)))
        if_match = pick((None, None, None, 1, 2))
        item = entity(id=id, status=pick(("open", "void")), due=due, at=at, text=text)
        ref = entity.key(id)
        calls: Mapping[str, Call] = {
            "put": lambda book: book.put(item, if_match=if_match),
            "create": lambda book: book.create(item),
            "move": lambda book: book.change(ref, {"due": due, "at": at}),
            "void": lambda book: book.change(ref, {"status": "void", "text": text}),
            "open": lambda book: book.change(ref, {"status": "open"}, if_match=if_match),
            "text": lambda book: book.change(ref, {"text": text}),
            "delete": lambda book: book.delete(ref, if_match=if_match),
        }
        verb = verb or pick(("put", "put", "put", *calls))
        return f"{verb} {item!r} if_match={if_match}", calls[verb]

    def _check_change(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        """Check a change of an item of these entities."""
        name = (new or old or {}).get("type", {}).get("S", "")
        if name not in RIGHT_TTLS:
            return
        process = get_running_process()
        if process is None:
            return  # the TTL process, or a writer past the library
        if new is not None and new.get("ttl") != (right := _build_right_ttl(name, new)):
            # A request whose clock is late keeps what a writer past the library has set.
            is_kept = old is not None and old.get("ttl") == new.get("ttl")
            if not is_kept or (old or {}).get("ttl") == _build_right_ttl(name, old or {}):
                self._wrong.append(f"{key} has ttl {new.get('ttl')}, not {right}: {new}")
        if process.name != API_CALLER:
            return
        times = self._times[process]
        stamp = (new or {}).get(CHANGED_AT)
        if name in STAMPED and new and stamp not in [{"S": render_instant(t)} for t in times]:
            self._wrong.append(f"{key} was changed at {times}, not {stamp}")
        ended = int((old or {}).get("ttl", {}).get("N", "99999999999"))
        is_first = new is not None and new["version"] == {"N": "1"}
        if old is not None and ended <= times[0].timestamp():
            is_new_item = new is not None and new["created_at"] != old["created_at"]
            # A creation that is sent again after the end of its item begins the same life again.
            if name in ARCHIVED or not is_first or not (is_new_item or new in self._first_versions):
                self._wrong.append(f"{key} had expired at {ended}: {old} becomes {new}")
        if is_first and new is not None:
            self._first_versions.append(new)


def _build_right_ttl(name: str, image: Image) -> AttributeValue | None:
    """The expiry that an image of an entity is declared to have, as an attribute."""
    right = RIGHT_TTLS[name](image)
    return None if right is None else {"N": str(right)}
