"""Requests, answers, stored items and DynamoDB requests are those of the recorded files.

``make golden`` writes the files again; what has changed in them is then part of the change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from daicho.storage import sessions
from demonstration import SYSTEMS, discover_demonstration
from tests.demonstration.golden.recording import Recording, record
from tests.demonstration.golden.scenarios import SCENARIOS

ROOT = Path(__file__).parents[3]
RECORDED = Path(__file__).with_name("recorded")


@cache
def _record(name: str) -> Recording:
    return record(SCENARIOS[name])


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_happens_is_what_was_recorded(name: str, pytestconfig: pytest.Config) -> None:
    recording = _record(name)
    for path, text in (
        (RECORDED / f"{name}.json", recording.text()),
        (RECORDED / f"{name}.projection.json", recording.projected_text()),
    ):
        if pytestconfig.getoption("--record", False):
            path.write_text(text, "utf-8")
        assert path.read_text("utf-8") == text, f"{path.name} differs: make golden, and look at it"


def test_urls_are_signed_alike_whichever_credentials_were_read_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "_open_session", cache(sessions._open_session.__wrapped__))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    credentials = sessions.get_session().get_credentials()
    assert credentials is not None and credentials.access_key == "another"
    text = record(SCENARIOS["photos"]).text()
    assert (RECORDED / "photos.json").read_text("utf-8") == text


def test_every_route_is_recorded() -> None:
    described = json.loads((ROOT / "docs/reference/openapi.json").read_text("utf-8"))["paths"]
    routes = {
        (method.upper(), path): re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
        for path, methods in described.items()
        for method, operation in methods.items()
        if {*operation["tags"]} <= {*SYSTEMS, "tenant"}
        if path != "/limits"  # a stack without limits answers 404
    }
    asked = set(_successes())
    missing = [
        f"{method} {path}"
        for (method, path), pattern in routes.items()
        if not any(method == verb and pattern.fullmatch(url) for verb, url in asked)
    ]
    assert missing == []


def test_every_system_is_recorded() -> None:
    assert {*SYSTEMS} - {*SCENARIOS, "manuals"} == set()  # manuals are asked with the articles
    assert [domain.name for domain in discover_demonstration().domains] == [*SYSTEMS]


def _successes() -> Iterator[tuple[str, str]]:
    """Method and path of every recorded request that was not refused."""
    for name in SCENARIOS:
        for entry in json.loads((RECORDED / f"{name}.json").read_text("utf-8")):
            if entry["answer"]["status"] < 400:
                request = entry["request"]
                yield request["method"], request["url"].partition("?")[0]


COUNTS = {"a": 1, "two": 2, "": 0}
CELL = re.compile(
    r"(?:(?P<reads>\d)(?:, where there is none (?P<most>\d)| for [a-z ]+)?(?:, |$))?"
    r"(?:(?P<writes>a|two) writes?(?: and (?P<checks>a) check)?)?"
)
"""The reads and writes of one item, in the table of access patterns."""
TENANTS = ("acme#", "#tenant#acme")
"""Beginnings of keys of the tenant. Other items are read every 10 seconds at most."""
Counted = tuple[int, int, int]


def test_the_table_of_access_patterns_says_what_is_sent() -> None:
    """Of the routes of one item; sent with none of the other headers that cost something."""
    counted: dict[tuple[str, str], set[Counted]] = {}
    stated = dict(_list_stated())
    for name in SCENARIOS:
        recording = _record(name)
        for entry, sent in zip(recording.entries, recording.sent, strict=True):
            request = entry["request"]
            if entry["answer"]["status"] >= 400 or "idempotency_key" in request.get("headers", {}):
                continue
            path = request["url"].partition("?")[0]
            for method, route in stated:
                pattern = re.sub(r"\{\w+\}", "[^/]+", route.partition("?")[0])
                if method == request["method"] and re.fullmatch(pattern, path):
                    counted.setdefault((method, route), set()).add(_count(sent))
    assert len(counted) > 80
    wrong = {
        " ".join(route): f"{stated[route]} is stated; {sorted(counts)} are counted"
        for route, counts in counted.items()
        if max(counts) != stated[route]
    }
    assert wrong == {}


def _list_stated() -> Iterator[tuple[tuple[str, str], Counted]]:
    """The reads, writes and checks that the table has, where they are of one item."""
    text = (ROOT / "docs/reference/access-patterns.md").read_text("utf-8")
    for route, cell in re.findall(r"^\| `([^`]*/[^`]*)` .* \| ([^|]*) \|$", text, re.MULTILINE):
        method, _, path = route.rpartition(" ")
        cells = [("", cell)] if method else re.findall(r"([A-Z]+): ([^;]+)", cell)
        for verb, of_verb in cells:
            if match := CELL.fullmatch(of_verb):
                reads = match["most"] or match["reads"] or "0"
                writes, checks = (COUNTS[match[name] or ""] for name in ("writes", "checks"))
                yield (verb or method, path), (int(reads), writes, checks)


def _count(sent: Sequence[Sequence[Any]]) -> Counted:
    """The consistent reads of items of the tenant, the writes, and the conditions on others."""
    reads = writes = checks = 0
    for operation, request in sent:
        match operation:
            case "get_item" if request["Key"]["PK"]["S"].startswith(TENANTS):
                reads += request["ConsistentRead"]
            case "query":
                reads += request["ExpressionAttributeValues"][":pk"]["S"].startswith(TENANTS)
            case "put_item" | "update_item" | "delete_item":
                writes += 1
            case "transact_write_items":
                kinds = [kind for each in request["TransactItems"] for kind in each]
                checks += kinds.count("ConditionCheck")
                writes += len(kinds) - kinds.count("ConditionCheck")
    return reads, writes, checks
