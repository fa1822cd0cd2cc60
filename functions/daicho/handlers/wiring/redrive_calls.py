"""One call of the redrive, by a command or as a step of a job; dismissals are logged as actions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from daicho.jobs.state_machine import REDRIVE_PREFIX
from daicho.operations.action_log import ActionLog
from daicho.redrive.report import RedriveReport, RedriveRequest
from daicho.redrive.worker import RedriveWorker
from daicho.runtime.retry import RetryBudget


def run_call(worker: RedriveWorker, event: Mapping[str, Any], retry_budget: RetryBudget) -> Any:
    """Run a call; returns its answer as JSON. The log has the first call of a dismissal.

    Raises:
        ValueError: the event asks for something else.
        StoreError: the action cannot be logged, so nothing was done.
    """
    if "job" in event:
        job = str(event["job"]).removeprefix(REDRIVE_PREFIX)
        if failure := event.get("failed"):
            return worker.fail_job(job, str(failure), retry_budget).to_json()
        return worker.run_step(job, retry_budget).to_json()
    request = RedriveRequest.parse(event)
    run = partial(worker.redrive.run, request, retry_budget)
    if request.action != "dismiss" or request.begin.phase == "dismiss":
        return run().to_json()
    user = str(event.get("user") or "daicho redrive")
    log = ActionLog(worker.store, worker.now)
    return log.run(user, "dismiss", request.target, run, _describe).to_json()


def _describe(report: RedriveReport) -> str:
    items = "; ".join(" ".join(each["item"]) for each in report.dismissals)
    return f"{report.refused or items}: {report.dismissed} records dismissed by the first call"
