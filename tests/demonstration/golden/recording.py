"""Plays a scenario and writes down what happened, as the text of a recorded file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daicho.web.http_api import DEFAULT_HEADERS
from tests.demonstration.golden.steps import Step
from tests.demonstration.golden.system import GoldenSystem, golden_system
from tests.support.api_client import Answer

LONGEST_BODY = 8_000
"""Characters of an answer; of a longer one its digest is recorded."""


@dataclass
class Recording:
    """What a scenario did: one entry a step, and the requests of each entity's first record.

    ``sent``: the requests to DynamoDB of each step.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    sent: list[list[list[Any]]] = field(default_factory=list)
    projections: dict[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """A JSON array of the entries: a line for each request, answer and stored item."""
        entries = (
            f' {{"request": {_write(entry["request"], sort=False)},\n'
            f'  "answer": {_write(entry["answer"], sort=False)},\n'
            f'  "stored": {_write_list(entry["stored"])},\n'
            f'  "derived": {_write_list(entry["derived"])}}}'
            for entry in self.entries
        )
        return "[\n" + ",\n".join(entries) + "\n]\n"

    def projected_text(self) -> str:
        """A JSON object by entity: a line for the image, and for each DynamoDB request."""
        entities = (
            f' "{entity}": {{"image": {_write(each["image"], sort=True)},\n'
            f'  "requests": {_requests(each["requests"])}}}'
            for entity, each in sorted(self.projections.items())
        )
        return "{\n" + ",\n".join(entities) + "\n}\n"


def record(steps: Sequence[Step]) -> Recording:
    """Play a scenario from an empty table."""
    recording, saved = Recording(), dict[str, str]()
    with golden_system() as system:
        for step in steps:
            recording.entries.append(_play(system, step, saved, recording.projections))
            recording.sent.append(system.sent)
    return recording


def _play(
    system: GoldenSystem, step: Step, saved: dict[str, str], projections: dict[str, Any]
) -> dict[str, Any]:
    url, body = step.fill_in(saved)
    system.wait(step.wait)
    before = system.snapshot()
    answer = system.request(step.method, url, body, step.headers, step.role)
    written = system.snapshot()
    for name, source in step.save.items():
        saved[name] = str(answer.json[source])
    for change, requests in system.project():
        new, entity = change["dynamodb"].get("NewImage"), ""
        if change["eventName"] == "INSERT":
            entity = new.get("type", {}).get("S", "")
        if entity and entity not in projections:
            projections[entity] = {"image": new, "requests": requests}
    system.roll_up()
    # What the rollup wrote comes through the stream too; the event filter lets none of it pass.
    assert all(requests is None for _, requests in system.project())
    return {
        "request": {"method": step.method, "url": url, "body": body, **_said(step)},
        "answer": _answer(answer),
        "stored": list(_changes(before, written)),
        "derived": list(_changes(written, system.snapshot())),
    }


def _said(step: Step) -> dict[str, Any]:
    said = {"headers": dict(step.headers), "role": step.role, "seconds_before": step.wait}
    return {name: value for name, value in said.items() if value}


def _answer(answer: Answer) -> dict[str, Any]:
    body: Any = answer.text
    if len(body) > LONGEST_BODY:
        body = {"sha256": hashlib.sha256(body.encode()).hexdigest(), "characters": len(body)}
    elif "json" in answer.headers.get("Content-Type", ""):
        body = answer.json if body else None
    # Every answer has the default headers.
    headers = {n: v for n, v in answer.headers.items() if DEFAULT_HEADERS.get(n) != v}
    return {"status": answer.status, "headers": headers, "body": body}


def _changes(
    before: Mapping[tuple[str, str], Any], after: Mapping[tuple[str, str], Any]
) -> Iterator[dict[str, Any]]:
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            yield {"key": list(key), "item": after.get(key)}


def _write(value: Any, *, sort: bool) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=sort)


def _requests(requests: Sequence[Any] | None) -> str:
    return "null" if requests is None else _write_list(requests)


def _write_list(values: Sequence[Any]) -> str:
    """A JSON array with a line for each value."""
    return "[" + ",".join(f"\n   {_write(value, sort=True)}" for value in values) + "]"
