"""The function that goes on with forgetting, over Dynoxide and a versioned bucket."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest

from daicho.archive.forgetter import Forgetter
from daicho.archive.reader import Selection
from daicho.handlers import forget
from daicho.handlers.wiring.dependencies import Dependencies
from tests.support.archive_deployment import BUCKET, Deployed, write
from tests.support.metric_lines import read_values
from tests.support.stream_pump import Context, environment

HOURS_73 = dt.timedelta(hours=73)
Run = Callable[[], dict[str, Any]]


@pytest.fixture
def run(deployed: Deployed) -> Run:
    """Nine rows of two tenants are archived, and one of them was to be forgotten just now."""
    write(deployed)
    deployed.now += dt.timedelta(days=8)
    deployed.expire()
    deployed.now -= dt.timedelta(days=8)  # the objects are as old as they are
    Forgetter(deployed.table, deployed.bucket, now=lambda: deployed.now).forget("one")
    dependencies = Dependencies(
        table=lambda *_, **__: deployed.table,
        bucket=lambda *_, **__: deployed.bucket,
        now=lambda: deployed.now,
        sleep=lambda _: None,
    )
    handler = forget.build(environment(deployed.name, ARCHIVE_BUCKET=BUCKET), dependencies)
    return lambda: handler({}, Context())


def tenants(deployed: Deployed) -> list[str]:
    return [row.tenant for row in deployed.archive.read_rows(Selection(), lambda *_: None)]


def test_rows_go_when_their_time_has_come(
    deployed: Deployed, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run()
    assert (said["reports"], said["waiting"], said["overdue"]) == ([], 1, 0)
    assert tenants(deployed).count("one") == 5
    deployed.now += HOURS_73
    said = run()
    assert json.loads(json.dumps(said)) == said  # Lambda answers in JSON
    (told,) = said["reports"]
    assert (told["tenant"], told["rows"], told["finished"]) == ("one", 5, True)
    assert read_values(capsys.readouterr().out) == {
        "ArchiveRowsForgotten": 5,
        "ForgettingOverdue": 0,
    }
    assert set(tenants(deployed)) == {"two"}
    assert [each for each in deployed.bucket.list_versions("") if not each.newest] == []
    assert Forgetter(deployed.table, deployed.bucket).list_waiting() == []
    assert run()["reports"] == []
