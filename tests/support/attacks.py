"""The most expensive requests that were found, sent to an API with bounds or without."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from daicho.handlers.wiring.dependencies import Dependencies
from daicho.runtime.bounds import RequestBounds
from daicho.runtime.clock import utc_now
from daicho.storage.capacity import CapacityUnits, MeteredClient
from daicho.storage.table import Table
from daicho.tally import counter_items
from tests.support.api_client import Answer, Client
from tests.support.deployment import Served

CHARACTERS = "".join(map(chr, range(1, 128)))
"""Those of one byte; JSON writes some of them as six."""


class RequestUnits(CapacityUnits):
    """Units, and the number of requests."""

    requests = 0

    def add(self, request: str, answer: Any) -> None:
        """Count a request."""
        super().add(request, answer)
        self.requests += 1


@dataclass(frozen=True)
class Taken:
    """What one request took. ``seconds``: of the processor."""

    answer: Answer
    read: float
    written: float
    requests: int
    seconds: float


@dataclass
class AttackedApi:
    """An API with ``bounds``, or without, whose requests are measured; ``setup`` is not."""

    served: Served
    bounds: RequestBounds | None
    units: RequestUnits = field(default_factory=RequestUnits)

    def __post_init__(self) -> None:
        client: Any = MeteredClient(self.served.dynamodb, self.units)
        table = Table(client, self.served.table.name)
        dependencies = Dependencies(table=lambda *_, **__: table, parallelism=8)
        names = {} if self.bounds is None else vars(self.bounds)
        bounds = {name.upper(): str(value) for name, value in names.items()}
        self.client = Client(self.served.build_api(dependencies, **bounds))
        self.setup = self.served.client()

    def send(self, method: str, url: str, body: Any = None, **headers: str) -> Taken:
        """Send a request."""
        read, written, requests = self.units.read, self.units.written, self.units.requests
        raw = None if body is None else json.dumps(body, ensure_ascii=False)
        start = time.process_time()
        answer = self.client(method, url, raw=raw, **headers)
        return Taken(
            answer,
            self.units.read - read,
            self.units.written - written,
            self.units.requests - requests,
            time.process_time() - start,
        )


def _put_sections(api: AttackedApi) -> Taken:
    document = {"title": "a", "sections": {f"s{n}": n for n in range(5_000)}}
    api.setup("PUT", "/documents/many", document)
    return api.send("PUT", "/documents/many", document)


def _put_large(api: AttackedApi) -> Taken:
    document = {"title": "a", "sections": {f"s{n}": "x" * 300_000 for n in range(15)}}
    api.setup("PUT", "/documents/large", document)
    return api.send("PUT", "/documents/large", document)


def _get_large(api: AttackedApi) -> Taken:
    _put_large(api)
    return api.send("GET", "/documents/large")


def _send_unknown(api: AttackedApi) -> Taken:
    return api.send("PUT", "/documents/unknown", {f"s{n}": 1 for n in range(300_000)})


def _send_many_members(api: AttackedApi) -> Taken:
    return api.send("PUT", "/documents/unknown", {f"s{n}": 1 for n in range(70_000)})


def open_poll(api: AttackedApi, counting: str, candidates: int = 100) -> str:
    """Open a poll for a million votes a second; returns its id."""
    names = [f"candidate {n:03}" for n in range(candidates)]
    poll = {"candidates": names, "counting": counting, "expected_votes_per_second": 1_000_000}
    identity: str = api.setup("POST", "/polls", poll).json["id"]
    return identity


def _read_fast_poll(api: AttackedApi) -> Taken:
    poll, table = open_poll(api, "fast"), api.served.table
    name = counter_items.CounterName("acme", "Ballot", "likes", 1, (poll,))
    opened = {"known_slots": 2_000, "throttled": 0, "dirty_shards": 4, "now": utc_now()}
    write = counter_items.add_vote(name, 0, ("candidate 001",), **opened)  # type: ignore[arg-type]
    table.update(write.key, write.update, names=write.names, values=write.values)
    return api.send("GET", f"/polls/{poll}?live=true")


def _read_exact_poll(api: AttackedApi) -> Taken:
    return api.send("GET", f"/polls/{open_poll(api, 'exact')}?live=true")


def _create_derived(api: AttackedApi) -> Taken:
    draw = random.Random(1).choices
    names = [" ".join("".join(draw("abcdefghij", k=5)) for _ in range(40)) for _ in range(2)]
    contact = {"name": names[0], "company": names[1], "categories": [f"c{n}" for n in range(50)]}
    return api.send("POST", "/contacts", contact)


def _list_large(api: AttackedApi) -> Taken:
    for _ in range(100):
        api.setup("POST", "/contacts", {"name": "large", "email": "x" * 16_000})
    api.served.catch_up()
    return api.send("GET", "/contacts?limit=100")


def create_largest(api: AttackedApi) -> Taken:
    """Create the largest item under an Idempotency-Key, whose answer can hardly be compressed."""
    draw = random.Random(1).choices
    contact = {"name": "a", "email": "".join(draw(CHARACTERS, k=15_500))}
    return api.send("POST", "/contacts", contact, Idempotency_Key="largest")


def put_most_sections(api: AttackedApi) -> Taken:
    """Replace the document with the most sections that the bounds admit."""
    for count in range(900, 0, -10):
        document = {"title": "a", "sections": {f"s{n}": n for n in range(count)}}
        taken = api.send("PUT", "/documents/most", document)
        if taken.answer.status < 300:
            break
    return api.send("PUT", "/documents/most", document)


ATTACKS: dict[str, Callable[[AttackedApi], Taken]] = {
    "PUT of a document of 5,000 sections": _put_sections,
    "PUT of a document of 4.5 MB": _put_large,
    "GET of a document of 4.5 MB": _get_large,
    "a body of 300,000 unknown sections": _send_unknown,
    "the same with 70,000, under 1 MB": _send_many_members,
    "live figures of a fast poll with 2,000 slots": _read_fast_poll,
    "live figures of an exact poll of 100 candidates": _read_exact_poll,
    "a page of 100 contacts of 16 KB": _list_large,
    "a contact that derives 400 items": _create_derived,
}
