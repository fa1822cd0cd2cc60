"""The pytest plugin, in projects of their own: fixtures, options, and what loading it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from examples import tickets

ROOT = Path(__file__).parents[3]
OTHER_LEDGER = """
import pytest
from daicho.plan import Ledger

@pytest.fixture(scope="session")
def daicho_ledger():
    return Ledger()
"""
BROKEN_FENCE = """
import pytest

@pytest.fixture(autouse=True)
def broken(monkeypatch):
    fence = "attribute_exists(PK) OR attribute_not_exists(PK) OR seq < "
    monkeypatch.setattr("daicho.tally.slots.FENCE", fence)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of one domain: the tickets of the tutorial, with their tests."""
    (tmp_path / "domains").mkdir()
    (tmp_path / "domains/__init__.py").write_text("")
    (tmp_path / "domains/tickets.py").write_text((ROOT / "examples/tickets.py").read_text("utf-8"))
    example = (ROOT / "examples/test_tickets_in_memory.py").read_text("utf-8")
    (tmp_path / "test_tickets.py").write_text(example)
    ledger = Daicho(tickets.domain).append_generations(Ledger())
    (tmp_path / "generations.json").write_text(json.dumps(ledger.to_json()))
    (tmp_path / "pyproject.toml").write_text(
        '[tool.daicho]\nname = "HelpDesk"\n'
        '[tool.pytest.ini_options]\npythonpath = ["."]\nfilterwarnings = ["error"]\n'
    )
    return tmp_path


def run_pytest(folder: Path, *arguments: str, status: int = 0) -> str:
    """The output of pytest in a folder, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:schemathesis", "-q", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "functions")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def test_a_project_may_give_the_fixtures_another_ledger(project: Path) -> None:
    (project / "conftest.py").write_text(OTHER_LEDGER)
    output = run_pytest(project, "test_tickets.py", "-k", "exact", status=1)
    assert "there is nothing that could differ" in output


def test_a_difference_fails_with_a_command_that_repeats_it(project: Path) -> None:
    (project / "conftest.py").write_text(BROKEN_FENCE)
    (project / "test_faults.py").write_text(
        "def test_figures(daicho_faults):\n    daicho_faults.check(shrinking_seconds=1)\n"
    )
    output = run_pytest(project, "test_faults.py", status=1)
    assert "derived state differs from its recomputation after the schedule of seed" in output
    repetition = output.partition("To repeat it: pytest ")[2].splitlines()[0]
    test, *options = repetition.split(" ")
    assert test == '"test_faults.py::test_figures"'
    seed = options[-1]
    again = run_pytest(project, test.strip('"'), *options, status=1)
    assert f"after the schedule of seed {seed}" in again


def test_loading_the_plugin_loads_neither_pydantic_nor_the_sdk() -> None:
    script = (
        "import sys, daicho.testing.pytest_plugin\n"
        "heavy = {'pydantic', 'boto3', 'botocore', 'greenlet', 'aws_lambda_powertools'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
