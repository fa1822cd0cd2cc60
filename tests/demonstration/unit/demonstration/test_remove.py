"""The demonstration is removed from a copy of the repository, and from none with changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from demonstration import discover_demonstration
from demonstration.remove import EDITS, main
from tests.support.repository import ROOT


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What the command reads and writes, with an entity of somebody's own."""
    folder = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("functions", "daicho_cli", "demonstration", "docs/reference"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in EDITS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "bench").mkdir()
    (folder / "tests/demonstration/unit").mkdir(parents=True)
    (folder / "tests/unit").mkdir()
    (folder / "examples").mkdir()
    for name in ("book_queries.py", "tickets.py", "test_tickets.py"):
        shutil.copy(ROOT / "examples" / name, folder / "examples")
    return folder


def read_entities(folder: Path) -> set[str]:
    lock = json.loads((folder / "functions/generations.json").read_text("utf-8"))
    assert lock["entities"].keys() == lock["fields"].keys() == lock["literals"].keys()
    return set(lock["entities"])


def run_daicho(folder: Path, *command: str) -> None:
    path = os.pathsep.join([str(folder / "functions"), str(folder)])
    subprocess.run(
        [sys.executable, "-m", "daicho_cli.main", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
    )


def git(folder: Path, *arguments: str) -> None:
    named = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.com")
    subprocess.run(["git", "-C", str(folder), *named, *arguments], check=True, capture_output=True)


def commit_all(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All")


def test_the_library_and_what_is_somebodys_own_remain(copy: Path) -> None:
    before = read_entities(copy)
    shutil.copy(copy / "examples/tickets.py", copy / "functions/domains")
    git(copy, "init", "-q")
    commit_all(copy)
    with pytest.raises(SystemExit, match="a new generation is needed: Ticket 1"):
        main([str(copy)])
    run_daicho(copy, "generation")
    with pytest.raises(SystemExit, match="has uncommitted changes: commit them, or name a copy"):
        main([str(copy)])
    assert (copy / "demonstration").exists()
    assert read_entities(copy) == {"Ticket"} | before
    commit_all(copy)
    main([str(copy)])

    domains = {path.name for path in (copy / "functions/domains").glob("*.py")}
    assert domains == {"__init__.py", "tickets.py"}
    entities = {entity.__name__ for entity in discover_demonstration().entities}
    assert read_entities(copy) == {"Ticket"} | (before - entities)
    for name in ("bench", "demonstration", "tests/demonstration", "examples/book_queries.py"):
        assert not (copy / name).exists()
    for name in ("tests/unit", "examples/tickets.py", "functions/daicho/plan/ledger.py"):
        assert (copy / name).exists()
    assert "sample_data" not in (copy / "pyproject.toml").read_text("utf-8")
    hooks = (copy / ".pre-commit-config.yaml").read_text("utf-8")
    assert "mypy app.py functions infra supply_chain daicho_cli tests examples\n" in hooks
    workflow = (copy / ".github/workflows/long.yml").read_text("utf-8")
    assert "target: [trials, fuzz, isolation, delivery-soak, mutation-check]\n" in workflow
    notice = (copy / "NOTICE").read_text("utf-8")
    assert "documented.toml" in notice
    assert "UNICODE LICENSE V3" in notice
    assert "name_corpus" not in notice
    described = json.loads((copy / "docs/reference/openapi.json").read_text("utf-8"))
    assert set(described["paths"]) == {
        *(
            "/tickets",
            "/tickets/{id}",
            "/effort/{month}",
            "/times/{team}",
            "/tenant",
            "/jobs",
            "/jobs/{id}",
            "/limits",
        ),
    }
    page = (copy / "docs/reference/access-patterns.md").read_text("utf-8")
    assert "Ticket.POST" in page
    assert "Artist" not in page
