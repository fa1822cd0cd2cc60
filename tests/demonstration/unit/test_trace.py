"""The page about the architecture has the walks of three requests as they are today."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.repository import ROOT

PAGE = ROOT / "docs/explanation/architecture.md"
ROWS = ("`POST /contacts`", "the projection of its record", "`GET /contacts?q=ada`")
PROGRAM = """
import json
from bench.trace import trace_requests
print("counts:", json.dumps([trace.counts for trace in trace_requests().values()]))
"""
"""In a process of its own: what other tests have cached would shorten the walks."""


def test_the_table_of_walks_is_what_make_trace_prints() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )
    (printed,) = (line for line in done.stdout.splitlines() if line.startswith("counts:"))
    counts = [tuple(row) for row in json.loads(printed.removeprefix("counts:"))]
    rows = [
        f"| {name} | {' | '.join(map(str, row))} |" for name, row in zip(ROWS, counts, strict=True)
    ]
    page = PAGE.read_text("utf-8")
    assert [row for row in rows if row not in page] == []
