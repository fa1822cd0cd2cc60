"""Demo data, one file a tenant, loaded over HTTP: a smoke test of the deployment as well.

A second run changes nothing, including later edits of the data. An item with a fixed id is put
only if it does not exist. All other requests are sent once: a file beside the data records them,
and each request has its own ``Idempotency-Key`` in case a run was interrupted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from daicho_cli.local.instance import LocalError, LocalInstance

HERE = Path(__file__).parent
PARALLEL = 6
SECONDS_TO_SETTLE = 180
THERE_ALREADY = 412
CLOSED = 410
SHOWN = "all of it was shown"
"""Recorded with the requests: from then on missing items were deleted or have expired."""

CALLS = (
    "/artists?name=dav",
    "/artists/david-bowie/songs",
    "/songs?artist=David%20Bowie&released=1977",
    "/albums?genre=Rock",
    "/playlists/road-trip/songs",
    "/charts/2026-11",
    "/revenue/2026-11/songs",
    "/daily-revenue?from=2026-11-01&to=2026-12-01&step=day",
    "/contacts?q=yama&include=calls",
    "/users/hikouki/orders",
    "/places?under=japan/kanto",
    "/escalations/sara",
    "/messages",
)
"""The calls that `make up` prints; each has a result for the first tenant."""


class ClosedError(Exception):
    """The tenant was deleted permanently."""


@dataclass(frozen=True)
class Request:
    """A request of the demo data; ``once`` names one that must not be sent twice."""

    method: str
    path: str
    body: Mapping[str, Any]
    once: str | None = None


@dataclass
class Sent:
    """The earlier requests by name, with the ids that the API returned."""

    file: Path
    ids: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Sent:
        """Read the record of an earlier run."""
        return cls(file, json.loads(file.read_text("utf-8")) if file.exists() else {})

    def write(self) -> None:
        """Save the record for the next run."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.ids, indent=1), encoding="utf-8")


def load(
    instance: LocalInstance, stack: Mapping[str, Any], say: Callable[[str], None] = lambda _: None
) -> int:
    """Load every tenant's data; return the number of new items. ``say`` receives closed tenants.

    The first run waits until all of `CALLS` have results. Later some calls may have none: messages
    expire, and escalations are resolved.
    """
    sent = Sent.read(instance.data / "demo.json")
    new = 0
    closed = []
    try:
        for tenant, token in stack["tokens"].items():
            data = json.loads((HERE / f"{tenant}.json").read_text("utf-8"))
            with _api(stack, token) as api:
                try:
                    new += Loader(api, tenant, sent).load(data)
                except ClosedError:
                    closed.append(tenant)
                    say(f"  {tenant} is closed, and gets no demo data: make reset begins anew")
        if SHOWN not in sent.ids and not closed:
            _settle(instance, stack)
            sent.ids[SHOWN] = "yes"
    finally:
        sent.write()
    return new


def steps(data: Mapping[str, Any]) -> Iterator[list[Request]]:
    """The requests of one tenant without its polls; requests of one step are independent."""
    for kind in ("artists", "albums", "songs", "playlists"):
        yield [Request("PUT", f"/{kind}/{id}", body) for id, body in data[kind].items()]
    yield [
        Request("PUT", f"/playlists/{playlist}/songs/{song}", track)
        for playlist, tracks in data["tracks"].items()
        for song, track in tracks.items()
    ]
    yield [
        Request("POST", f"/songs/{song}/downloads", {"at": at}, once=f"download {song} {at}")
        for song, moments in data["downloads"].items()
        for at in moments
    ]
    yield [Request("PUT", f"/products/{song}", body) for song, body in data["products"].items()]
    yield [
        Request("POST", "/sales", {"song": song, "at": at}, once=f"sale {song} {at}")
        for song, moments in data["sales"].items()
        for at in moments
    ]
    yield [
        Request("POST", "/messages", message, once=f"message {number}")
        for number, message in enumerate(data["messages"])
    ]
    for kind in ("users", "places"):
        yield [Request("PUT", f"/{kind}/{path}", body) for path, body in data[kind].items()]
    yield [
        Request("POST", "/orders", order, once=f"order {number}")
        for number, order in enumerate(data["orders"])
    ]
    yield [
        Request("POST", f"/devices/{device}/reports", report, f"report {report['at']} of {device}")
        for device, reports in data["reports"].items()
        for report in reports
    ]


@dataclass(frozen=True)
class Loader:
    """Sends one tenant's data."""

    api: httpx.Client
    tenant: str
    sent: Sent

    def load(self, data: Mapping[str, Any]) -> int:
        """Send everything; return the number of new items."""
        new = sum(self._send(step) for step in steps(data))
        for name, poll in data["polls"].items():
            new += self._send([Request("POST", "/polls", poll["poll"], once=f"poll {name}")])
            id = self.sent.ids[f"{self.tenant}: poll {name}"]
            votes = [
                Request(
                    "PUT", f"/polls/{id}/votes/{voter}", {"candidate": candidate}, f"{id} {voter}"
                )
                for voter, candidate in poll["votes"].items()
            ]
            new += self._send(votes)
        return new + self._contacts(data)

    def _contacts(self, data: Mapping[str, Any]) -> int:
        """Send contacts, which need ids of categories, and calls, which need ids of contacts."""

        def ids(kind: str, names: Iterable[str]) -> list[str]:
            return [self.sent.ids[f"{self.tenant}: {kind} {name}"] for name in names]

        new = self._send(
            [
                Request("POST", "/categories", body, once=f"category {name}")
                for name, body in data["categories"].items()
            ]
        )
        new += self._send(
            [
                Request(
                    "POST",
                    "/contacts",
                    {**body, "categories": ids("category", body["categories"])},
                    once=f"contact {name}",
                )
                for name, body in data["contacts"].items()
            ]
        )
        return new + self._send(
            [
                Request("POST", f"/contacts/{id}/calls", call, once=f"call {number} of {name}")
                for name, calls in data["calls"].items()
                for id in ids("contact", [name])
                for number, call in enumerate(calls)
            ]
        )

    def _send(self, requests: list[Request]) -> int:
        unsent = [
            entry for entry in requests if f"{self.tenant}: {entry.once}" not in self.sent.ids
        ]
        with ThreadPoolExecutor(PARALLEL) as pool:
            answers = list(pool.map(self._one, unsent))
        if any(answer.status_code == CLOSED for answer in answers):
            raise ClosedError(self.tenant)
        for request, answer in zip(unsent, answers, strict=True):
            if answer.is_error and answer.status_code != THERE_ALREADY:
                raise LocalError(
                    f"demo data of {self.tenant}: {request.method} {request.path} was answered "
                    f"{answer.status_code}: {answer.text[:500]}"
                )
            if request.once is not None:
                created = answer.json() if answer.content else {}
                self.sent.ids[f"{self.tenant}: {request.once}"] = str(created.get("id", ""))
        return sum(answer.is_success for answer in answers)

    def _one(self, request: Request) -> httpx.Response:
        if request.once is None:
            headers = {"if-none-match": "*"}
        else:
            headers = {"idempotency-key": f"demo {self.tenant} {request.once}"}
        try:
            return self.api.request(
                request.method, request.path, json=request.body, headers=headers
            )
        except httpx.ConnectError:
            raise LocalError("the local AWS does not run; make up starts it") from None
        except httpx.HTTPError as error:
            raise LocalError(f"{request.method} {request.path}: {error!r}") from error


def _api(stack: Mapping[str, Any], token: str) -> httpx.Client:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.Client(base_url=stack["url"], headers=headers, timeout=60, trust_env=False)


def _has_result(answer: Mapping[str, Any]) -> bool:
    """Whether a list has items, or a series counts any."""
    return bool(answer.get("items") or any(each["count"] for each in answer.get("buckets", ())))


def _settle(instance: LocalInstance, stack: Mapping[str, Any]) -> None:
    """Wait until the stream has delivered the results of the printed calls."""
    functions = instance.session().client("lambda", endpoint_url=instance.endpoint)
    until = time.monotonic() + SECONDS_TO_SETTLE
    with _api(stack, next(iter(stack["tokens"].values()))) as api:
        for call in CALLS:
            while not (answer := api.get(call)).is_success or not _has_result(answer.json()):
                if answer.is_client_error or time.monotonic() > until:
                    raise LocalError(
                        f"GET {call} shows nothing of the demo data: "
                        f"{answer.status_code} {answer.text[:500]}"
                    )
                # Without this call the charts would wait up to a minute for the schedule.
                functions.invoke(FunctionName=stack["functions"]["rollup"], Payload=b"{}")
                time.sleep(0.5)
