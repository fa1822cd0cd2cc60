"""Demo data, one file a tenant, loaded over HTTP: a smoke test of the deployment as well.

Doing it twice changes nothing. What has an id of ours is put; what gets its id from the API is
posted once: what was posted is remembered beside the data, and each request carries an
``Idempotency-Key`` of its own in case it was stopped in between.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from local.place import Place, Trouble

HERE = Path(__file__).parent
PARALLEL = 6
SECONDS_TO_SETTLE = 60

CALLS = (
    "/artists?name=dav",
    "/artists/david-bowie/songs",
    "/songs?artist=David%20Bowie&released=1977",
    "/albums?genre=Rock",
    "/playlists/road-trip/songs",
    "/charts/2026-11",
    "/messages",
)
"""What `make up` prints; each has something to show for the first tenant."""


@dataclass(frozen=True)
class Request:
    """A request of the demo data; ``once`` names one that must not be sent twice."""

    method: str
    path: str
    body: Mapping[str, Any]
    once: str | None = None


@dataclass
class Posted:
    """What was posted before, by the request's name: the ids that the API gave."""

    file: Path
    ids: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Posted:
        """What an earlier run remembered."""
        return cls(file, json.loads(file.read_text("utf-8")) if file.exists() else {})

    def write(self) -> None:
        """Remember it for the next run."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.ids, indent=1), encoding="utf-8")


def load(place: Place, stack: Mapping[str, Any]) -> int:
    """Load every tenant's data and wait until all of `CALLS` answer; the number of requests."""
    sent = 0
    posted = Posted.read(place.data / "demo.json")
    try:
        for tenant, token in stack["tokens"].items():
            data = json.loads((HERE / f"{tenant}.json").read_text("utf-8"))
            headers = {"authorization": f"Bearer {token}"}
            with httpx.Client(base_url=stack["url"], headers=headers, timeout=60) as api:
                for step in steps(data):
                    sent += _send(api, tenant, step, posted)
                sent += _polls(api, tenant, data.get("polls", {}), posted)
    finally:
        posted.write()
    _settle(place, stack)
    return sent


def steps(data: Mapping[str, Any]) -> Iterator[list[Request]]:
    """The requests of one tenant; those of one step do not depend on each other."""
    for kind in ("artists", "albums", "songs", "playlists"):
        yield [Request("PUT", f"/{kind}/{id}", body) for id, body in data.get(kind, {}).items()]
    yield [
        Request("PUT", f"/playlists/{playlist}/songs/{song}", track)
        for playlist, tracks in data.get("tracks", {}).items()
        for song, track in tracks.items()
    ]
    yield [
        Request("POST", f"/songs/{song}/downloads", {"at": at}, once=f"download {song} {at}")
        for song, moments in data.get("downloads", {}).items()
        for at in moments
    ]
    yield [
        Request("POST", "/messages", message, once=f"message {number}")
        for number, message in enumerate(data.get("messages", []))
    ]


def _polls(api: httpx.Client, tenant: str, polls: Mapping[str, Any], posted: Posted) -> int:
    sent = 0
    for name, poll in polls.items():
        opening = Request("POST", "/polls", poll["poll"], once=f"poll {name}")
        sent += _send(api, tenant, [opening], posted)
        id = posted.ids[f"{tenant}: poll {name}"]
        sent += _send(
            api,
            tenant,
            [
                Request("PUT", f"/polls/{id}/votes/{voter}", {"candidate": candidate})
                for voter, candidate in poll["votes"].items()
            ],
            posted,
        )
    return sent


def _send(api: httpx.Client, tenant: str, requests: list[Request], posted: Posted) -> int:
    fresh = [r for r in requests if r.once is None or f"{tenant}: {r.once}" not in posted.ids]
    with ThreadPoolExecutor(PARALLEL) as pool:
        answers = list(pool.map(lambda request: _one(api, tenant, request), fresh))
    for request, answer in zip(fresh, answers, strict=True):
        if answer.is_error:
            raise Trouble(
                f"demo data of {tenant}: {request.method} {request.path} was answered "
                f"{answer.status_code}: {answer.text[:500]}"
            )
        if request.once is not None:
            posted.ids[f"{tenant}: {request.once}"] = str(answer.json().get("id", ""))
    return len(fresh)


def _one(api: httpx.Client, tenant: str, request: Request) -> httpx.Response:
    once = {"idempotency-key": f"demo {tenant} {request.once}"} if request.once else {}
    try:
        return api.request(request.method, request.path, json=request.body, headers=once)
    except httpx.HTTPError as error:
        raise Trouble(f"{request.method} {request.path}: {error!r}") from error


def _settle(place: Place, stack: Mapping[str, Any]) -> None:
    """Wait until the stream has brought what the printed calls show."""
    token = next(iter(stack["tokens"].values()))
    headers = {"authorization": f"Bearer {token}"}
    functions = place.session().client("lambda", endpoint_url=place.endpoint)
    until = time.monotonic() + SECONDS_TO_SETTLE
    with httpx.Client(base_url=stack["url"], headers=headers, timeout=60) as api:
        for call in CALLS:
            while not (answer := api.get(call)).is_success or not answer.json()["items"]:
                if answer.is_client_error or time.monotonic() > until:
                    raise Trouble(
                        f"GET {call} shows nothing of the demo data: "
                        f"{answer.status_code} {answer.text[:500]}"
                    )
                # The charts would wait for the schedule: up to a minute.
                functions.invoke(FunctionName=stack["functions"]["rollup"], Payload=b"{}")
                time.sleep(0.5)
