"""Whose a log line is."""

from __future__ import annotations

import pytest

from daicho_cli.local.group import parse_function


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
