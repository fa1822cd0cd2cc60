"""The events that a history of writes must have published, computed without the library.

It reads the stream of the table, and the declarations of ``tests.delivery.event_entities`` as they
are written here once more.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from daicho.declare.subscribers import Event
from daicho.testing.faults.simulated_deployment import SimulatedDeployment

Image = Mapping[str, Any]
PUBLISHED = {
    "created": (1, ("id", "status")),
    "paid": (2, ("total", "lines")),
    "changed": (1, ("total",)),
    "deleted": (1, ("id", "total")),
}
"""The version and the fields of each event of `Bill`."""
NOTED = {"note_total": (1, ("id", "total"))}
"""That of the subscriber, which is told what is ``changed``."""
DEFAULTS = {"status": "ab", "total": "0", "lines": 1}


def find_event_differences(deployment: SimulatedDeployment) -> list[str]:
    """Events that are lost, invented, changed, or out of order at their first delivery."""
    expected = {event["id"]: event for event in _list_expected(deployment)}
    return _compare(deployment, expected, deployment.bus.events)


def find_handling_differences(deployment: SimulatedDeployment, handled: list[Event]) -> list[str]:
    """What the subscriber `note_total` has handled or written, as far as it is wrong."""
    events = [event for event in _list_expected(deployment, NOTED) if event["data"]["old"]]
    expected = {event["id"]: event for event in events}
    shown = [
        {
            **{name: getattr(event, name) for name in ("id", "subject", "tenant", "version")},
            "data": {"old": _show(event.old), "new": _show(event.new)},
        }
        for event in handled
    ]
    fixed = {id: _select(event, shown[0]) for id, event in expected.items()} if shown else expected
    differences = _compare(deployment, fixed, shown)
    # Of the stream, because a schedule deletes some items at its end, whatever they are.
    images = [
        record["dynamodb"].get("NewImage") or {}
        for shard in deployment.stream.shards.values()
        for record in shard.records
    ]
    told = [image for image in images if image.get("type") == {"S": "Told"}]
    written = {image["event"]["S"]: _read(image, "total") for image in told}
    right = {id: event["data"]["new"]["total"] for id, event in expected.items()}
    return [*differences, *([f"written: {written} instead of {right}"] if written != right else [])]


def _select(event: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: event[name] for name in names}


def _show(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The values of an event of a subscriber as those of the bus are."""
    return {**values, "total": str(values["total"].normalize() + 0)} if values else None


def _compare(
    deployment: SimulatedDeployment,
    expected: Mapping[str, dict[str, Any]],
    events: Iterable[dict[str, Any]],
) -> list[str]:
    delivered: dict[str, dict[str, Any]] = {}
    differences = []
    for event in events:
        known = expected.get(event["id"])
        if known is None:
            differences.append(f"invented: {event}")
        elif any(event.get(name) != value for name, value in known.items()):
            differences.append(f"changed: {event} instead of {known}")
        delivered.setdefault(event["id"], event)
    lost = [id for id in expected if id not in delivered]
    differences += [f"lost: {expected[id]}" for id in lost]
    if lost:
        return differences
    late, order = _list_set_aside(deployment), defaultdict[str, list[str]](list)
    right = defaultdict[str, list[str]](list)
    for ids, found in ((right, expected), (order, delivered)):
        for id, event in found.items():
            if event["subject"] not in late:
                ids[event["subject"]].append(id)
    return differences + [
        f"out of order: {subject}: {order[subject]} instead of {right[subject]}"
        for subject in right
        if order[subject] != right[subject]
    ]


def _list_expected(
    deployment: SimulatedDeployment, only: Mapping[str, tuple[int, tuple[str, ...]]] = PUBLISHED
) -> Iterator[dict[str, Any]]:
    for record in (each for shard in deployment.stream.shards.values() for each in shard.records):
        change = record["dynamodb"]
        old, new = change.get("OldImage") or None, change.get("NewImage") or None
        image = new or old or {}
        if image.get("type") != {"S": "Bill"} or "userIdentity" in record:
            continue
        if old and new and old["created_at"] != new["created_at"]:
            old = None  # it had expired: another item
        version = (new or {}).get("version")
        kept = [each.get(name) for each, name in ((new, "_quiet"), (old, "version")) if each]
        is_quiet = version is not None and version in kept
        for name in () if is_quiet else _list_names(old, new):
            if only is PUBLISHED:
                yield _describe(record, name, old, new, PUBLISHED[name])
            elif name == "changed":
                yield _describe(record, "note_total", old, new, NOTED["note_total"], "note_total")


def _list_names(old: Image | None, new: Image | None) -> Iterator[str]:
    """The events of a change, in the order of their declarations."""
    if old is None and new is not None:
        yield "created"
    if new is not None and [each and _read(each, "status") == "paid" for each in (old, new)] in (
        [False, True],
        [None, True],
    ):
        yield "paid"
    watched = [each and (_read(each, "total"), _read(each, "lines")) for each in (old, new)]
    if None not in watched and watched[0] != watched[1]:
        yield "changed"
    if new is None:
        yield "deleted"


def _read(image: Image, name: str) -> Any:
    stored: Mapping[str, Any] = image.get(name, {"": DEFAULTS.get(name)})
    ((kind, value),) = stored.items()
    if name == "total":
        return str(Decimal(value).normalize() + 0) if kind else value
    return int(value) if name == "lines" else value


def _describe(
    record: Mapping[str, Any],
    name: str,
    old: Image | None,
    new: Image | None,
    declared: tuple[int, tuple[str, ...]],
    *receiver: str,
) -> dict[str, Any]:
    """What is fixed about an event, which is all but its time."""
    change, image = record["dynamodb"], new or old or {}
    label = record["eventSourceARN"].split("/")[-1]
    sequence = f"{label}#{change['SequenceNumber'].rjust(40, '0')}"
    version, fields = declared
    pk, sk = (change["Keys"][part]["S"] for part in ("PK", "SK"))
    parts = "\0".join((f"{pk}\0{sk}", "Bill", name, str(version), *receiver))
    digest = hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()
    data = {
        which: each and {field: _read(each, field) for field in fields}
        for which, each in (("old", old), ("new", new))
    }
    return {
        "id": f"{sequence}-{digest}",
        "source": "/Proof/prod",
        "type": f"proof.bill.{name}.v{version}",
        "subject": image["id"]["S"],
        "sequence": sequence,
        "tenant": "t",
        "version": int(image["version"]["N"]) if "version" in image else None,
        "data": data,
    }


def _list_set_aside(deployment: SimulatedDeployment) -> set[str]:
    """The items with a record that was discarded or set aside: a redrive sends its events late."""
    bodies = [version.body for version in deployment.buckets["failures"].stored.values()]
    late = set()
    for body in bodies:
        document = json.loads(body)
        payload = document.get("payload") or {}
        payload = json.loads(payload) if isinstance(payload, str) else payload
        for record in payload.get("Records", ()):
            change = record["dynamodb"]
            image = change.get("NewImage") or change.get("OldImage") or {}
            late.add(image.get("id", {}).get("S", ""))
    return late
