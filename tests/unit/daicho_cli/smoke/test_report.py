"""What is printed, and what fails a run."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from daicho_cli.smoke.calls import Checks, RefusedError, SmokeFailure
from daicho_cli.smoke.item_checks import try_each
from daicho_cli.smoke.report import CheckResult, Outcome, Report

RESULTS = [
    CheckResult("GET /docs", "the page", Outcome.PASSED, seconds=0.25),
    CheckResult("Lambda::Function Api", "memory in MB", Outcome.PASSED, wanted=512, found=512),
    CheckResult("Lambda::Function Api", "environment", Outcome.FAILED,
        wanted={"A": 1, "B": 2, "C": 3}, found={"A": 1, "B": 3}),
    CheckResult("S3::Bucket One", "lifecycle", Outcome.NOT_KEPT),
    CheckResult("S3::Bucket Two", "lifecycle", Outcome.NOT_KEPT),
]  # fmt: skip


def render(report: Report, *, everything: bool = False) -> str:
    out = io.StringIO()
    report.print(Console(file=out, width=200), everything=everything)
    return out.getvalue()


def test_a_table_has_what_was_driven_and_what_failed() -> None:
    report = Report("Shop-dev", "smoke-1", RESULTS, ["an item"])
    text = render(report)
    assert 'wanted {"B": 2, "C": 3}, found {"B": 3, "C": null}' in text
    assert "memory in MB" not in text and "memory in MB" in render(report, everything=True)
    assert "not kept by the local AWS: lifecycle (2 resources)" in text
    assert "left behind: an item" in text
    assert "passed: 2" in text and "FAILED: 1" in text


def test_the_document_has_every_row() -> None:
    document = Report("Shop-dev", "smoke-1", RESULTS, ["an item"]).to_document()
    assert json.loads(json.dumps(document)) == document
    assert document["passed"] is False and len(document["results"]) == len(RESULTS)
    assert Report("Shop-dev", "smoke-1", RESULTS[:2]).to_document()["passed"] is True


@pytest.mark.parametrize(
    "error", [SmokeFailure("no result"), KeyError("items"), TypeError("none"), ValueError("JSON")]
)
def test_an_unexpected_answer_is_a_failed_check(error: Exception) -> None:
    checks = Checks()

    def fail() -> None:
        raise error

    with checks.check("GET /x", "answers"):
        fail()
    (result,) = checks.results
    assert result.outcome is Outcome.FAILED and str(error) in result.detail
    assert result.seconds is not None


def test_the_first_candidate_that_is_not_refused_is_checked() -> None:
    checks = Checks()

    def check(candidate: str) -> str:
        if candidate == "refused":
            raise RefusedError("422: a rule of the domain")
        if candidate == "broken":
            raise SmokeFailure("500")
        return f"POST /{candidate}"

    for candidates in (["refused", "tea"], ["refused"], ["broken", "tea"], []):
        try_each(checks, "create", "creates", candidates, check)
    assert [(result.subject, result.outcome) for result in checks.results] == [
        ("POST /tea", Outcome.PASSED),
        ("create", Outcome.FAILED),
        ("create", Outcome.FAILED),
        ("create", Outcome.NOT_DECLARED),
    ]
    assert checks.results[1].detail == "422: a rule of the domain"
