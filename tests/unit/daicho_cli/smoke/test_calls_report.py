"""What is printed, and what fails a run."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from daicho_cli.smoke.calls import CheckResult, Checks, Outcome, Report, SmokeFailure

RESULTS = [
    CheckResult("GET /docs", "the page", Outcome.PASSED, seconds=0.25),
    CheckResult("POST /votes", "a fast vote", Outcome.FAILED, "answered 500", seconds=1),
    CheckResult("ballot", "is accepted", Outcome.NOT_DECLARED),
    CheckResult("archive", "row of an expired item", Outcome.NOT_CHECKED, "a token was given"),
]


def render(report: Report) -> str:
    out = io.StringIO()
    report.print(Console(file=out, width=200))
    return out.getvalue()


def test_a_table_has_what_was_driven_and_what_failed() -> None:
    text = render(Report("Shop-dev", "smoke-1", RESULTS, ["an item"]))
    assert "0.25" in text and "answered 500" in text and "not declared" in text
    assert "not checked: row of an expired item: a token was given" in text
    assert "left behind: an item" in text
    assert "passed: 1" in text and "FAILED: 1" in text


def test_the_document_has_every_row() -> None:
    document = Report("Shop-dev", "smoke-1", RESULTS, ["an item"]).to_document()
    assert json.loads(json.dumps(document)) == document
    assert document["passed"] is False and len(document["results"]) == len(RESULTS)
    assert Report("Shop-dev", "smoke-1", RESULTS[:1]).to_document()["passed"] is True


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
