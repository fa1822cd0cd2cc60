"""How long a newcomer waits with a project of their own: ``make bench-project``.

From the wheel in an empty folder: `daicho init`, `make up` to the first answered call, an entity in
one more file to its first answer, `make test`. Once with the caches of this machine, which a first
round fills, and once with empty ones. The exit status is 1 if a target is missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from tests.support.dynoxide import free_port
from tests.support.own_project import OwnProject
from tests.support.repository import ROOT
from tests.support.versions import build_wheel

CACHES = ("UV_CACHE_DIR", "PIP_CACHE_DIR", "npm_config_cache", "XDG_CACHE_HOME")
SECONDS_TO_BE_FOUND = 120
SUPPLIER = {"name": "Tea & Sons", "country": "jp"}


@dataclass(frozen=True)
class Figure:
    """Seconds of one step beside the most that it may take."""

    step: str
    seconds: float
    limit: float


def run_newcomer(folder: Path, wheels: Path, variables: Mapping[str, str]) -> list[float]:
    """Do all steps in ``folder``; seconds to the first call, of the added entity, of the tests."""
    began = time.monotonic()
    project = OwnProject.create("shop", folder, wheels, PORT=str(free_port()), **variables)
    try:
        printed = project.make("up")
        if "POST /products → 201" not in printed:
            raise RuntimeError(f"no call was answered:\n{printed}")
        up = time.monotonic() - began

        project.add_entity()
        began = time.monotonic()
        project.make("generate")
        project.make("up")
        stack = project.stack
        headers = {"authorization": f"Bearer {next(iter(stack['tokens'].values()))}"}
        with httpx.Client(base_url=stack["url"], headers=headers, timeout=60) as api:
            api.post("/suppliers", json=SUPPLIER).raise_for_status()
            while not api.get("/suppliers?name=tea").raise_for_status().json()["items"]:
                if time.monotonic() - began > SECONDS_TO_BE_FOUND:
                    raise RuntimeError("the supplier is not found by its name")
        added = time.monotonic() - began

        began = time.monotonic()
        project.make("test")
        return [up, added, time.monotonic() - began]
    finally:
        project.make("reset")


def main() -> int:
    """Measure and print all figures."""
    console = Console()
    figures = []
    with tempfile.TemporaryDirectory(prefix="daicho-bench-") as temporary:
        root = Path(temporary)
        wheels = root / "wheels"
        build_wheel(ROOT, wheels)
        for name, limit in (("empty", 90), ("warm", 60)):
            # The round with empty caches fills those that the next one has.
            variables = {cache: str(root / "caches" / cache) for cache in CACHES}
            (root / name).mkdir()
            up, added, tested = run_newcomer(root / name, wheels, variables)
            figures += [
                Figure(f"{name} caches: daicho init and make up, first call answered", up, limit),
                Figure(f"{name} caches: an entity in one file, served", added, 25),
                Figure(f"{name} caches: make test", tested, 60),
            ]
    table = Table("step", "seconds", "limit", "")
    for figure in figures:
        verdict = "met" if figure.seconds < figure.limit else "missed"
        table.add_row(figure.step, f"{figure.seconds:.1f}", f"{figure.limit:.0f}", verdict)
    console.print(table)
    return int(any(figure.seconds >= figure.limit for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
