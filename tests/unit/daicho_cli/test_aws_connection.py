"""Which table, endpoint and region the commands of a table use."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import NoRegionError

from daicho.storage import table
from daicho_cli.aws import Connection, StackError


def test_a_region_that_nobody_says_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_region(*_: Any, **__: Any) -> Any:
        raise NoRegionError

    monkeypatch.setattr(table, "open_client", no_region)
    with pytest.raises(StackError, match="region"):
        Connection("table").open(1)
