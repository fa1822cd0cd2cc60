"""The function that goes on with forgetting, over Dynoxide and a versioned bucket of moto's."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest

from daicho.archive.forgetter import ForgetScheduler, Forgetter
from daicho.archive.reader import Selection
from daicho.errors import SettingsError, UnavailableError
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
    assert ForgetScheduler(deployed.table, deployed.bucket).list_waiting() == []
    assert run()["reports"] == []


def test_a_bucket_that_refuses_is_told_and_the_next_run_does_it(
    deployed: Deployed,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    deployed.now += 2 * HOURS_73

    def refuses(*_: Any, **__: Any) -> Any:
        raise UnavailableError("503")

    left = iter([60.0, *[20.0] * 3])
    monkeypatch.setattr(
        Context, "get_remaining_time_in_millis", lambda _: 1000 * next(left, 1.0), raising=True
    )
    with monkeypatch.context() as patch:
        patch.setattr(deployed.bucket, "replace", refuses)
        assert run()["failed"] == {"one": "503"}
    told = read_values(capsys.readouterr().out)
    assert told["ForgettingsFailed"] == 1
    assert told["ForgettingOverdue"] > 3600
    assert "not forgotten" in caplog.text
    monkeypatch.undo()
    run()
    assert set(tenants(deployed)) == {"two"}


def test_the_environment_is_checked() -> None:
    with pytest.raises(SettingsError, match="ARCHIVE_BUCKET is missing"):
        forget.build({"TABLE_NAME": "t", "STAGE": "dev"})
