"""Whose a log line is, and what cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from daicho_cli.local.group import parse_function
from tests.support.repository import ROOT


@pytest.mark.parametrize(
    ("group", "function"),
    [
        ("/aws/cloudformation/Daicho-local/ApiFunctionLogs058AFA0D", "api"),
        ("/aws/cloudformation/Daicho-local/ProjectorProjectLogs2A22E100", "project"),
        ("/aws/cloudformation/Daicho-local/RollupLogs1645604F", "rollup"),
        (
            "/aws/vendedlogs/states/Daicho-local-jobs-0a1b2c3d-1122-3344-5566-77889900aabb",
            "Daicho-local-jobs",
        ),
        ("/aws/vendedlogs/states/Other-jobs", "Other-jobs"),
    ],
)
def test_a_log_group_is_named_by_its_function(group: str, function: str) -> None:
    assert parse_function(group) == function


@pytest.mark.parametrize("command", ["up", "down"])
def test_a_folder_that_cannot_be_written_is_named(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "daicho_cli.local", command],
        cwd=ROOT,
        env={**os.environ, "DAICHO_LOCAL": "/sys/daicho"},  # nobody can make a folder there
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("daicho: cannot write /sys/daicho: ")
