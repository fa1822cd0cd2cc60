"""The trial of a deployment: its order, its report, and how it goes on after an interruption."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from daicho_cli.checkpoint import CheckpointError, CheckpointFile
from daicho_cli.main import app
from daicho_cli.smoke.calls import SmokeFailure
from daicho_cli.trial import command, steps
from daicho_cli.trial.load import Measured
from daicho_cli.trial.place import Place, TrialError, break_template
from daicho_cli.trial.steps import Trial, TrialProgress

ACCOUNT = "123456789012"


@dataclass(frozen=True)
class FakePlace(Place):
    """A place that notes what is asked of it. ``fails``: steps that do, by name."""

    done: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return "nowhere"

    def deploy(self) -> None:
        self.done.append("deploy")

    def remove(self) -> None:
        self.done.append("remove")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePlace:
    """A place whose steps only note that they ran."""
    place = FakePlace(tmp_path, "eu-west-1", lambda _: None)

    def note(name: str, _: steps.Trial) -> dict[str, Any]:
        place.done.append(name)
        return {"ran": len(place.done)}

    for name, (title, _) in list(steps.STEPS.items()):
        monkeypatch.setitem(steps.STEPS, name, (title, partial(note, name)))
    monkeypatch.setattr(command, "check_free", lambda _: None)
    target = type("Target", (), {"region": "eu-west-1"})
    monkeypatch.setattr(FakePlace, "target", target, raising=False)
    return place


def open_checkpoint(place: FakePlace) -> CheckpointFile[TrialProgress]:
    return CheckpointFile.open(
        place.folder / "progress.json", {"hours": 1.0}, TrialProgress(), mismatch="another"
    )


def run(place: FakePlace, *, is_confirmed: bool = True) -> Any:
    report = place.folder / "report.md"
    checkpoint = open_checkpoint(place)
    return command.run(Trial(place, checkpoint, 1.0, 5.0), report, is_confirmed=is_confirmed)


def fail(place: FakePlace, name: str, error: BaseException) -> None:
    def raise_it(_: Any) -> Any:
        raise error

    steps.STEPS[name] = (steps.STEPS[name][0], raise_it)


@pytest.mark.parametrize("name", steps.STEPS)
def test_an_interrupted_trial_goes_on_where_it_was_and_removes_the_stack_last(
    place: FakePlace, name: str
) -> None:
    original = steps.STEPS[name]
    fail(place, name, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run(place)
    assert "remove" not in place.done
    steps.STEPS[name] = original
    run(place)
    assert place.done == [*steps.STEPS, "remove"]
    report = (place.folder / "report.md").read_text("utf-8")
    assert report.count("| passed |") == len(steps.STEPS)
    assert not (place.folder / "progress.json").exists()


def test_a_step_that_fails_is_reported_without_the_account(place: FakePlace) -> None:
    fail(place, "smoke", SmokeFailure(f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:x"))
    fail(place, "throttle", steps.NotHereError("not here"))
    ended = run(place)
    assert ended["smoke"]["outcome"] == "FAILED"
    assert place.done[-1] == "remove"
    report = (place.folder / "report.md").read_text("utf-8")
    assert ACCOUNT not in report
    assert "arn:aws:lambda:eu-west-1:(account):function:x" in report
    assert "| not checked | not here |" in report


def test_nothing_goes_on_without_a_deployment(place: FakePlace) -> None:
    fail(place, "deploy", TrialError("make deploy failed"))
    with pytest.raises(TrialError):
        run(place)
    assert place.done == []


def test_it_asks_once_and_does_nothing_without_consent(
    place: FakePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(text: str, **_: Any) -> None:
        asked.append(text)
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", refuse)
    with pytest.raises(typer.Abort):
        run(place, is_confirmed=False)
    assert (len(asked), place.done) == (1, [])
    assert not (place.folder / "progress.json").exists()


def test_what_was_begun_with_other_options_is_named(place: FakePlace) -> None:
    open_checkpoint(place).save(TrialProgress(name="trial-1"))
    with pytest.raises(CheckpointError, match="another"):
        CheckpointFile.open(
            place.folder / "progress.json", {"hours": 2.0}, TrialProgress(), mismatch="another"
        )


def test_a_failing_change_waits_for_every_function() -> None:
    function = {"Type": "AWS::Lambda::Function", "Properties": {"Handler": "x"}}
    template = {"Resources": {"One": function, "Two": function, "Table": {"Type": "AWS::X"}}}
    broken = break_template(template, "trial-1")["Resources"]
    assert broken["TrialCondition"]["DependsOn"] == ["One", "Two"]
    for name in ("One", "Two"):
        variables = broken[name]["Properties"]["Environment"]["Variables"]
        assert variables == {"DAICHO_TRIAL": "trial-1"}
    assert "Environment" not in function["Properties"]


def test_a_load_that_lost_an_item_fails() -> None:
    times = list(range(1, 101))
    measured = Measured(seconds=9.6, requests=100, created=3, times=times, read_again=3)
    figures = steps.check_load(measured)
    assert figures["milliseconds of a request (median, p99)"] == [50, 99]
    measured.missing = 1
    with pytest.raises(SmokeFailure, match='"items missing": 1'):
        steps.check_load(measured)


def test_wrong_options_change_nothing() -> None:
    result = CliRunner().invoke(app, ["trial", "--hours", "0"])
    assert result.exit_code == 2
