"""Which table, endpoint and region the commands of a table use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import NoRegionError

from daicho.storage import table
from daicho_cli.aws import Connection, StackError
from tests.support.stack_file import LOCAL


def test_a_table_is_that_of_the_local_stack_unless_one_is_named(file: Path) -> None:
    file.write_text(json.dumps(LOCAL))
    endpoint = LOCAL["endpoint"]
    assert Connection.find(None, None, file) == Connection("local-table", endpoint, "us-east-1")
    assert Connection.find("mine", None, file) == Connection("mine")
    assert Connection.find("mine", "http://x", file) == Connection("mine", "http://x")


def test_a_region_that_nobody_says_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_region(*_: Any, **__: Any) -> Any:
        raise NoRegionError

    monkeypatch.setattr(table, "open_client", no_region)
    with pytest.raises(StackError, match="region"):
        Connection("table").open(1)
