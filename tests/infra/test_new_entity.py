"""A new entity is one file: template, filters, API, docs and lock file follow without an edit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/tickets.py"
MOST_LINES = 52


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more file in it, and a new generation."""
    copy = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for folder in ("functions", "daicho_cli", "infra"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for file in ("app.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, copy)
    shutil.copy(EXAMPLE, copy / "functions/domains")
    run(copy, "-m", "daicho_cli.main", "generation")
    return copy


def run(project: Path, *arguments: str, **environment: str) -> str:
    """Run the copy's code, and nothing of the original's."""
    path = os.pathsep.join([str(project / "functions"), str(project)])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_file_is_short_and_speaks_of_tickets_only() -> None:
    text = EXAMPLE.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    for word in ("boto", "dynamo", "lambda", "table", "PK", "GSI", "#"):
        assert word.lower() not in text.lower()


def test_the_lock_file_has_its_first_generation(project: Path) -> None:
    before = json.loads((ROOT / "functions/generations.json").read_text())["entities"]
    before.pop("Ticket", None)  # somebody may have followed the README
    after = json.loads((project / "functions/generations.json").read_text())["entities"]
    (generation,) = after.pop("Ticket")
    assert after == before
    assert generation["generation"] == 1
    plan = generation["plan"]
    assert [each["name"] for each in plan["searches"]] == ["search"]
    assert [each["name"] for each in plan["listings"]] == ["queue"]
    assert [each["name"] for each in plan["aggregates"]] == ["effort", "times"]


def test_the_api_has_its_routes(project: Path) -> None:
    run(project, "-m", "daicho_cli.main", "openapi")
    paths: dict[str, Any] = json.loads((project / "docs/reference/openapi.json").read_text())[
        "paths"
    ]
    assert set(paths["/tickets"]) == {"get", "post"}
    assert set(paths["/tickets/{id}"]) == {"get", "put", "patch", "delete"}
    assert set(paths["/effort/{month}"]) == {"get"}
    asked = {each["name"] for each in paths["/tickets"]["get"]["parameters"]}
    assert asked == {"title", "team", "queue", "limit", "cursor", "from", "to", "order"}


def test_the_docs_have_its_access_patterns(project: Path) -> None:
    run(project, "-m", "daicho_cli.main", "docs")
    table = (project / "docs/reference/access-patterns.md").read_text()
    for route in ("GET /tickets?title=", "GET /tickets?queue=true&team=", "GET /effort/{month}"):
        assert f"`{route}`" in table
    assert "Ticket.effort" in table


def test_the_template_and_its_filters_have_it(project: Path) -> None:
    context = {"stage": "dev"}
    out = str(project / "cdk.out")
    run(project, "app.py", CDK_OUTDIR=out, CDK_CONTEXT_JSON=json.dumps(context))
    (file,) = (project / "cdk.out").glob("Daicho-*.template.json")
    resources: dict[str, Any] = json.loads(file.read_text())["Resources"]
    patterns = [
        json.loads(each["Pattern"])
        for resource in resources.values()
        if resource["Type"] == "AWS::Lambda::EventSourceMapping"
        for each in resource["Properties"]["FilterCriteria"]["Filters"]
    ]
    waking = [
        pattern
        for pattern in patterns
        for image in ("NewImage", "OldImage")
        if "Ticket" in pattern["dynamodb"].get(image, {}).get("type", {}).get("S", ())
    ]
    assert len(waking) == 2  # the projector's, for the new image and the old; it is not archived


def test_the_handler_serves_it(project: Path) -> None:
    script = """
import domains, json
from daicho.book.book import Book
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
daicho = Daicho.discover(domains)
ledger = daicho.check_locked(Ledger.load())
print(json.dumps([list(ledger.derived_types), sorted(e.__name__ for e in daicho.entities)]))
"""
    derived, declared = json.loads(run(project, "-c", script))
    assert "Ticket" in derived
    assert "Ticket" in declared
