"""The handlers of stage local as Lambda loads them, below the project's own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.repository import ROOT

ENVIRON = {
    **dict.fromkeys(("TABLE_NAME", "FAILURE_BUCKET", "JOB_MACHINE", "PROJECT_FUNCTION"), "x"),
    **dict.fromkeys(("ARCHIVE_FUNCTION", "AUDIT_FUNCTION", "STACK_NAME"), "x"),
    **{"DIRTY_SHARDS": "1", "STAGE": "local", "AWS_DEFAULT_REGION": "us-east-1"},
    "PYTHONPATH": str(ROOT / "functions"),
    "FAULTS": "0.2",
}
SCRIPT = """
from daicho.local.project import handler
import {package}.project, daicho.handlers.project
print(handler is {package}.project.handler is daicho.handlers.project.handler)
print(handler.__qualname__)
"""


@pytest.mark.parametrize("package", ["handlers", "daicho.handlers"])
def test_the_project_gets_the_projector_that_fails(package: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(package=package)],
        env={**ENVIRON, "PROJECT_HANDLERS": package},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["True", "Faults.end_at_random.<locals>.wrapped"]
