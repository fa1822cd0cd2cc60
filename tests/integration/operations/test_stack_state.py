"""Health, generations, rebuilds, audit, deletions and the log of actions."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.archive.audit import AuditPartition, AuditRound
from daicho.archive.verifier import VerifyFinding, VerifyReport
from daicho.errors import ThrottledError, UnavailableError
from daicho.layout.backfill_state import BackfillState, build_backfill_key
from daicho.rebuild.requests import find_job, request_rebuild
from daicho.release.states import build_record_update
from daicho.storage.protocols import apply_update
from tests.support.api_client import Client
from tests.support.operator_stack import OperatorStack
from tests.support.redrive_setup import BEGAN, build_song_with_artist
from tests.support.sample_ledger import LEDGER

HOUR = dt.timedelta(hours=1)


def release(stack: OperatorStack) -> None:
    """Record the backfill items, as a release does."""
    for entity in LEDGER.list_types():
        generations = LEDGER.list_generations(entity)
        state = BackfillState(entity, generations[0].number, generations[-1].number)
        stack.table.put(state.to_item())
        assert stack.table.get(build_backfill_key(entity)) is not None
    apply_update(stack.table, build_record_update("source", frozenset(LEDGER.derived_types)))


def test_health_has_what_is_stored_and_nulls_with_a_reason(
    stack: OperatorStack, operator: Client
) -> None:
    release(stack)
    operator.good("POST", "/ops/demo/poison?entity=Song")
    stack.house.put(build_song_with_artist(1, "ab"))
    stack.project()
    operator.good("DELETE", "/ops/demo/poison")
    stack.house.put(build_song_with_artist(2, "bc"))
    stack.project(1)
    stack.house.put(build_song_with_artist(3, "cd"))
    stack.discard(2, 3)
    stack.house.now += HOUR
    health = operator.good("GET", "/ops/health")
    assert (health["stage"], health["open_claims"], health["discarded"]) == ("local", 1, 1)
    assert health["rollup_lag_seconds"] == HOUR.total_seconds()
    assert health["audit_age_seconds"] is None
    assert health["dashboard"] == "https://dashboard.test"
    assert health["unknown"].keys() == {"audit_age_seconds"}
    songs = [each for each in health["declarations"] if each["entity"] == "Song"]
    assert {each["state"] for each in songs} >= {"building"}
    assert {each["rebuild"] for each in songs} == {None}


def test_a_rebuild_is_paused_and_resumed_by_another_execution(
    stack: OperatorStack, operator: Client
) -> None:
    release(stack)
    job = request_rebuild(stack.table, {"Song": 2}, BEGAN, rate=100, total=10)
    health = operator.good("GET", "/ops/health")
    shown = [each["rebuild"] for each in health["declarations"] if each["rebuild"]]
    assert shown[0]["job"] == job.id
    assert (shown[0]["done"], shown[0]["total"], shown[0]["paused"]) == (0, 10, False)
    paused = operator.good("POST", f"/ops/rebuilds/{job.id}/pause")
    assert paused["paused"] is True
    assert operator("POST", f"/ops/rebuilds/{job.id}/pause").status == 409
    stack.machine.is_paused = True
    resumed = operator.good("POST", f"/ops/rebuilds/{job.id}/resume")
    assert resumed["paused"] is False
    assert stack.machine.started == [{"tenant": "", "job": resumed["job"]}]
    stored = find_job(stack.table)
    assert stored is not None
    assert (stored.id, stored.state) == (resumed["job"], "running")
    assert operator("POST", f"/ops/rebuilds/{job.id}/pause").status == 404
    assert operator("POST", f"/ops/rebuilds/{resumed['job']}/resume").status == 409
    details = [each["detail"] for each in operator.good("GET", "/ops/log")["items"]]
    assert f"as {resumed['job']}" in details


def test_the_audit_shows_its_findings_and_starts_again(
    stack: OperatorStack, operator: Client
) -> None:
    assert operator.good("GET", "/ops/audit")["day"] is None
    partition = AuditPartition("Visit", BEGAN.date())
    finding = VerifyFinding("gap", "entity=Visit/x", "1 to 3")
    audited = AuditRound(BEGAN.date(), BEGAN).begin(partition)
    stack.table.put(audited.with_verified(partition, VerifyReport([finding])).item)
    stack.house.now += HOUR
    shown = operator.good("GET", "/ops/audit")
    assert shown["findings"] == [{"kind": "gap", "name": "entity=Visit/x", "detail": "1 to 3"}]
    assert (shown["mismatches"], shown["done"]) == (1, [partition.name])
    assert (shown["is_today"], shown["age_seconds"]) == (True, HOUR.total_seconds())
    answer = operator("POST", "/ops/audit")
    assert (answer.status, answer.headers["Location"]) == (202, "/ops/audit")
    assert stack.auditor.started == [{"again": True}]


class FailingTable:
    """A table whose calls of some methods fail."""

    def __init__(self, table: Any, error: Exception, *methods: str) -> None:
        self._table, self._error, self._methods = table, error, methods

    def __getattr__(self, name: str) -> Any:
        if name not in self._methods:
            return getattr(self._table, name)
        return self._fail

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "status"), [(ThrottledError("slow"), 429), (UnavailableError("gone"), 503)]
)
def test_a_throttled_or_silent_table_is_a_problem_that_can_be_repeated(
    stack: OperatorStack, error: Exception, status: int
) -> None:
    table = FailingTable(stack.table, error, "get", "query_pages", "put", "update")
    operator = Client(stack.build(table=lambda *_, **__: table), None, dict(stack.client().claims))
    urls = [
        *(("GET", f"/ops/{name}") for name in ("health", "log", "redrives", "tenants", "audit")),
        *(
            ("POST", f"/ops/{name}")
            for name in ("audit", "rebuilds/x/pause", "demo/poison?entity=Song")
        ),
    ]
    for method, url in urls:
        answer = operator(method, url)
        assert (answer.status, answer.headers["Retry-After"]) == (status, "1"), answer.text
    assert stack.auditor.started == []


def test_an_action_whose_result_cannot_be_recorded_is_done_and_its_entry_stays(
    stack: OperatorStack,
) -> None:
    table = FailingTable(stack.table, UnavailableError("gone"), "update")
    operator = Client(stack.build(table=lambda *_, **__: table), None, dict(stack.client().claims))
    assert operator("POST", "/ops/audit").status == 202
    assert stack.auditor.started == [{"again": True}]
    (entry,) = stack.client().good("GET", "/ops/log")["items"]
    assert (entry["action"], entry["detail"]) == ("start audit", "started")
