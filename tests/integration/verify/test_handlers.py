"""Verification as people and the schedule start it: operators' API, state machine, jobs, sweep."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from daicho.handlers import jobs, ops, sweep
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.jobs.state_machine import VERIFY_PREFIX
from daicho.rebuild.repair_job import find_repair
from daicho.release.states import build_deployed_update, build_record_update
from daicho.storage.attributes import get_key
from daicho.storage.protocols import apply_update
from daicho.testing.stack_settings import ENVIRONMENT
from daicho.verify.findings import Kind
from daicho.verify.job import SCHEDULE, find_verification
from tests.support.api_client import Client
from tests.support.inflicted_damage import change_slot, remove_row
from tests.support.operator_stack import CLAIMS, NAMES, StepMachine
from tests.support.stream_pump import Context
from tests.support.verified_shop import LEDGER, VerifiedShop

SETTINGS = {**ENVIRONMENT, **NAMES, "SETTLE_SECONDS": "60", "SCAN_UNITS": "1000000"}


class Stack:
    """The handlers over a shop. Executions run to their end before they are answered."""

    def __init__(self, shop: VerifiedShop) -> None:
        self.shop, self.machine = shop, StepMachine(self._run_step)
        machine: Any = self.machine
        self.dependencies = Dependencies(
            table=lambda *_, **__: shop.table,
            bucket=lambda name, **_: shop.open_bucket(name),
            now=shop.deployment.clock.now,
            sleep=shop._wait,
            parallelism=1,
            machine=lambda _: machine,
            stream=lambda _: shop.deployment._describe_stream(),
        )
        auditor: Any = None
        handler = ops.build(SETTINGS, LEDGER, self.dependencies, auditor=auditor)
        self.operator = Client(handler, None, CLAIMS)

    def _run_step(self, given: Any) -> Any:
        return jobs.build(SETTINGS, LEDGER, self.dependencies)(given, Context())

    def sweep(self, **settings: str) -> None:
        """Run the sweep of a stage with these settings."""
        sweep.build({**SETTINGS, **settings}, LEDGER, self.dependencies)({}, Context())


@pytest.fixture
def stack() -> Stack:
    shop = VerifiedShop()
    shop.fill()
    shop.deployment.roll_up()
    return Stack(shop)


def test_an_operator_verifies_repairs_and_verifies_again(stack: Stack) -> None:
    operator = stack.operator
    assert operator.good("GET", "/ops/verify") == {"state": None}
    row, total = remove_row(stack.shop, 3), change_slot(stack.shop, "open")
    answer = operator("POST", "/ops/verify", {"repair": False})
    assert (answer.status, answer.headers["Location"]) == (202, "/ops/verify")
    shown = operator.good("GET", "/ops/verify")
    assert (shown["state"], shown["outcome"], shown["asked_by"]) == ("succeeded", "damage", "olga")
    places = {(each["kind"], *each["key"], each["repaired"]) for each in shown["findings"]}
    assert places == {
        (Kind.ROW_MISSING, *row, False),
        (Kind.TALLY, *total, False),
        (Kind.TOTAL, *total, False),
    }
    assert shown["counts"]["repair_units"] > 0
    for outcome in ("repaired", "clean"):
        operator.good("POST", "/ops/verify", {"repair": True})
        assert operator.good("GET", "/ops/verify")["outcome"] == outcome
    actions = [each["action"] for each in operator.good("GET", "/ops/log")["items"]]
    assert actions[:3] == ["start repair", "start repair", "start verification"]


@pytest.mark.parametrize(
    ("order", "status"),
    [({"entity": "Nobody"}, 422), ({"sample": 0}, 422), ({"sample": 2}, 422)],
)
def test_an_order_without_a_meaning_starts_nothing(
    stack: Stack, order: dict[str, Any], status: int
) -> None:
    assert stack.operator("POST", "/ops/verify", order).status == status
    assert find_verification(stack.shop.table) is None


def test_a_second_run_and_an_unknown_tenant_are_refused(stack: Stack) -> None:
    stack.machine.is_paused = True
    first = stack.operator.good("POST", "/ops/verify", {"tenant": "nobody"})
    refused = stack.operator("POST", "/ops/verify", {})
    assert refused.status == 409
    assert first["id"] in refused.text
    stack.machine.run()
    shown = stack.operator.good("GET", "/ops/verify")
    assert (shown["state"], shown["outcome"]) == ("failed", None)
    assert "no item of a tenant 'nobody'" in shown["reason"]


def test_a_run_that_failed_in_the_state_machine_says_why(stack: Stack) -> None:
    stack.machine.is_paused = True
    id = stack.operator.good("POST", "/ops/verify", {})["id"]
    failed = {"tenant": "", "job": f"{VERIFY_PREFIX}{id}", "failed": "no memory"}
    stack._run_step(failed)
    shown = stack.operator.good("GET", "/ops/verify")
    assert (shown["state"], shown["reason"]) == ("failed", "no memory")


def test_the_sweep_verifies_a_sample_once_a_day(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    stack.sweep()
    assert find_verification(stack.shop.table) is None
    for row in stack.shop.list_items("~Sale", "~Customer", "~Memo"):
        stack.shop.table.delete(get_key(row))
    ids = set()
    for hours in (0, 1, 22, 1):
        stack.shop.deployment.clock.advance(dt.timedelta(hours=hours).total_seconds())
        stack.sweep(VERIFY_PERCENT="50")
        job = find_verification(stack.shop.table)
        assert job is not None
        ids.add(job.id)
        assert (job.asked_by, job.sample, job.state) == (SCHEDULE, 0.5, "succeeded")
    assert len(ids) == 2
    assert '"VerifyDamage"' in capsys.readouterr().out


def test_an_operator_writes_rows_again(stack: Stack) -> None:
    end_deployment(stack)
    operator, path = stack.operator, "/ops/rebuilds/again"
    assert operator.good("GET", path) == {"state": None}
    assert operator.good("POST", path, {})["estimate"] is None
    row, sales = remove_row(stack.shop, 3), len(list(stack.shop.list_items("Sale")))
    operator.good("POST", "/ops/verify", {})
    counted = operator.good("GET", "/ops/verify")["counts"]
    preview = operator.good("POST", path, {"entities": ["Sale"]})
    assert preview["targets"] == {"Sale": LEDGER.newest_generation("Sale").number}
    units = counted["items"] + 2 * counted["rows"]
    assert preview["estimate"]["write_units"] == units
    assert find_repair(stack.shop.table) is None
    answer = operator("POST", path, {"entities": ["Sale"], "dry_run": False})
    assert (answer.status, answer.headers["Location"]) == (202, path)
    shown = operator.good("GET", path)
    assert (shown["state"], shown["counts"]["touched"]) == ("succeeded", sales)
    assert stack.shop.table.get(row) is not None
    assert operator.good("GET", "/ops/log")["items"][0]["action"] == "start rebuild again"


def end_deployment(stack: Stack) -> None:
    """The code was deployed a while ago: no job works before."""
    now = stack.shop.deployment.clock.now()
    for update in (build_record_update("code", frozenset()), build_deployed_update("code", now)):
        apply_update(stack.shop.table, update)
    stack.shop.deployment.clock.advance(300)


def test_one_run_at_a_time_is_paused_and_resumed_by_its_id(stack: Stack) -> None:
    operator, path = stack.operator, "/ops/rebuilds/again"
    end_deployment(stack)
    assert operator("POST", path, {"entities": ["Nobody"]}).status == 422
    stack.machine.is_paused = True
    job = operator.good("POST", path, {"dry_run": False})["job"]
    assert operator("POST", path, {"dry_run": False}).status == 409
    assert operator.good("POST", f"/ops/rebuilds/{job}/pause")["paused"]
    assert operator.good("GET", path)["state"] == "paused"
    stack.machine.is_paused = False
    operator.good("POST", f"/ops/rebuilds/{job}/resume")
    assert operator.good("GET", path)["state"] == "succeeded"
