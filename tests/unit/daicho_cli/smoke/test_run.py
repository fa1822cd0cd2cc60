"""Runs over an API in memory: at a deployed stage, with a token, and the second of an archive."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from daicho_cli.aws import Stack
from daicho_cli.smoke import run as runs
from daicho_cli.smoke import target as targets
from daicho_cli.smoke.calls import Outcome
from daicho_cli.smoke.routes import Item
from daicho_cli.smoke.run import SmokeRun
from daicho_cli.terminal import OptionError
from tests.support.api_client import Answer
from tests.support.sample_project import DAICHO, LEDGER
from tests.unit.daicho_cli.smoke.memory_api import (
    PATIENCE_S,
    URL,
    MemoryApi,
    _no_pauses,
    open_memory_api,
)

__all__ = ["_no_pauses"]

pytestmark = pytest.mark.usefixtures("_no_pauses")
RUN = "smoke-1a2b3c4d"
KEPT_TENANT = f"{RUN}-archive"
JSON = {"content-type": "application/json"}
PROBLEM = {"content-type": "application/problem+json"}


class Deployed(MemoryApi):
    """The API of a stage, with the routes of an administrator."""

    deletion = Answer(202, JSON, json.dumps({"id": "job"}), "")
    job = json.dumps({"passes": 1, "state": "running"})

    def answer(self, request: httpx.Request, headers: dict[str, str]) -> Answer:
        if request.url.path == "/tenant":
            return self.deletion
        if request.url.path == "/jobs/job":
            return Answer(200, JSON, self.job, "")
        return super().answer(request, headers)


class Stage:
    """A stage: who signed in, which items expire, and the archive."""

    def __init__(self, api: MemoryApi, monkeypatch: pytest.MonkeyPatch) -> None:
        self.api = api
        self.users: list[str] = []
        self.expired: list[tuple[str, Item]] = []
        self.archived: dict[str, int] = {}
        target = Stack("Shop-dev", {"ApiUrl": URL, "ArchiveBucketName": "B"})
        self.run = SmokeRun(target, DAICHO, LEDGER, PATIENCE_S, name=RUN)
        monkeypatch.setattr(targets, "create_run_user", self.create_run_user)
        for module in (runs, targets):
            monkeypatch.setattr(module, "open_api", self.open_api)
            monkeypatch.setattr(module, "expire_item", self.expire_item)
        monkeypatch.setattr(runs, "read_rows", self.read_rows)

    @contextmanager
    def create_run_user(self, _target: Stack, tenant: str, _roles: Sequence[str]) -> Iterator[str]:
        self.users.append(tenant)
        yield f"token of {tenant}"
        self.users.append(f"{tenant} removed")

    @contextmanager
    def open_api(self, _url: str, _token: str, _patience: float) -> Iterator[Any]:
        with open_memory_api(self.api) as api:
            yield api

    def expire_item(self, _target: Stack, _ledger: object, tenant: str, item: Item) -> None:
        self.expired.append((tenant, item))

    def read_rows(self, _target: Stack, tenant: str, entities: list[str]) -> list[object]:
        assert entities == ["Download", "Message"]
        return [object()] * self.archived.get(tenant, 0)

    @property
    def failed(self) -> list[str]:
        return [each.check for each in self.run.checks.results if each.outcome is Outcome.FAILED]


def test_a_run_at_a_stage_leaves_one_expired_item(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(Deployed(), monkeypatch)
    stage.run.drive()
    assert stage.failed == []
    assert stage.users == [*(RUN, KEPT_TENANT), *(f"{KEPT_TENANT} removed", f"{RUN} removed")]
    ((tenant, _),) = stage.expired
    assert tenant == KEPT_TENANT
    assert stage.api.requests.count("DELETE /tenant") == 1
    left = "\n".join(stage.run.left_behind)
    assert f"--check-archive {RUN}" in left and f"the closed tenant {RUN}," in left


@pytest.mark.parametrize("is_accepted", [False, True])
def test_a_tenant_that_is_not_deleted_is_reported(
    monkeypatch: pytest.MonkeyPatch, *, is_accepted: bool
) -> None:
    api = Deployed()
    if is_accepted:
        api.job = json.dumps({"passes": 0, "state": "failed", "error": "a step failed"})
    else:
        api.deletion = Answer(403, PROBLEM, "{}", "")
    stage = Stage(api, monkeypatch)
    stage.run.drive()
    assert stage.failed == ["the tenant is being removed"]
    assert f"all items of tenant {RUN}: it was not removed" in stage.run.left_behind


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_the_second_run_looks_for_exactly_one_row(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    stage = Stage(Deployed(), monkeypatch)
    stage.archived = {KEPT_TENANT: rows}
    stage.run.check_archive()
    if rows == 1:
        assert stage.failed == []
        assert stage.users == [KEPT_TENANT, f"{KEPT_TENANT} removed"]
        assert stage.api.requests[0] == "DELETE /tenant"
    else:
        assert stage.failed == [f"row of tenant {KEPT_TENANT}"]
        assert stage.users == stage.api.requests == []


NO_RUNS = ("acme", "", "smoke-1", f"{RUN}5", RUN.upper(), f"{RUN}\n", f"x-{RUN}")


@pytest.mark.parametrize("name", NO_RUNS)
def test_only_the_tenant_of_a_run_can_be_deleted(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stage = Stage(Deployed(), monkeypatch)
    stage.run.name = name
    stage.archived = {f"{name}-archive": 1}
    with pytest.raises(OptionError, match="not a run"):
        stage.run.check_archive()
    assert stage.users == stage.api.requests == []


def test_an_api_alone_has_no_archive_to_check() -> None:
    run = SmokeRun(Stack(URL, {"ApiUrl": URL}), DAICHO, LEDGER, PATIENCE_S, name=RUN)
    with pytest.raises(OptionError, match="--url"):
        run.check_archive()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("ArchiveBucketName", "a token was given"), ("Other", "an API without a stack")],
)
def test_the_reason_of_an_unchecked_archive_is_right(
    monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    stage = Stage(Deployed(), monkeypatch)
    stage.run.target = replace(stage.run.target, resources={name: "B"})
    with open_memory_api(stage.api) as api:
        stage.run.check_routes(api, with_archive=False)
    (each,) = (each for each in stage.run.checks.results if each.subject == "archive")
    assert each.outcome is Outcome.NOT_CHECKED
    assert each.detail.startswith(reason)


def test_with_a_token_each_item_is_removed_and_never_the_tenant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage(Deployed(), monkeypatch)
    stage.run.drive_with("token")
    assert stage.failed == []
    assert (stage.users, stage.expired) == ([], [])
    removals = [each for each in stage.api.requests if each.startswith("DELETE")]
    assert "DELETE /tenant" not in removals
    assert len(removals) > 10
    assert any("no route removes it" in line for line in stage.run.left_behind)
