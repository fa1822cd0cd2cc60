"""Requests, answers, stored items and DynamoDB requests are those of the recorded files.

``make golden`` writes the files again; what has changed in them is then part of the change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from daicho.storage import sessions
from demonstration import SYSTEMS, discover_demonstration
from tests.demonstration.golden.recording import record
from tests.demonstration.golden.scenarios import SCENARIOS

ROOT = Path(__file__).parents[3]
RECORDED = Path(__file__).with_name("recorded")


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_happens_is_what_was_recorded(name: str, pytestconfig: pytest.Config) -> None:
    recording = record(SCENARIOS[name])
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
