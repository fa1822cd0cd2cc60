"""Each model is sound with all of its conditions, and needs each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from daicho.layout.backfill_state import STATE_CACHE_S
from daicho.rebuild.rebuild import QUIET_S
from daicho.release.commands import REQUEST_ATTEMPTS, REQUEST_TIMEOUT_S
from daicho.release.older_writers import LEASE_S, READERS_KNOW_S
from tests.models import __main__, engine
from tests.models.engine import Model, Result, Space, TooManyStatesError
from tests.models.models import MODELS

NAMES = [(model, name) for model in MODELS for name in model.names]


def list_rows(heading: str, columns: int) -> list[list[str]]:
    """The rows of tables with so many columns below a heading of the proof."""
    page = (Path(__file__).parents[2] / "docs/explanation/exactness-proof.md").read_text("utf-8")
    section = re.split(r"\n##+ ", page.partition(f"# {heading}\n")[2])[0]
    rows = [
        re.split(r" *\| *", line)[1:-1] for line in section.splitlines() if line.startswith("|")
    ]
    return [row for row in rows if len(row) == columns and row[0][:2].isdigit()]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"rule {model.rule}")
def test_a_rule_with_all_conditions_has_no_counterexample(model: Model) -> None:
    """The page has its figures."""
    result = model.explore()
    assert result.counterexample is None
    figures = (f"{result.states:,}", str(len(model.conditions)), str(len(model.assumptions)))
    (row,) = (
        row for row in list_rows("Models of the rules about time", 5) if int(row[0]) == model.rule
    )
    assert tuple(row[2:]) == figures


@pytest.mark.parametrize(
    ("model", "name"), NAMES, ids=[f"rule {model.rule} without {name}" for model, name in NAMES]
)
def test_each_condition_is_needed(model: Model, name: str) -> None:
    assert model.explore(name).counterexample is not None


def test_names_are_unique() -> None:
    for model in MODELS:
        assert len(set(model.names)) == len(model.conditions) + len(model.assumptions)


def count_up(state: int, without: str) -> Iterator[tuple[str, int]]:
    """From 0 to 9 by ones, or by threes if ``ones`` are left out. There is another way to 4."""
    step = 3 if without == "ones" else 1
    if state < 9:
        yield f"add {step}", state + step
    if state == 1:
        yield "skip", 4


def test_a_counterexample_is_a_shortest_one() -> None:
    space = Space(0, count_up, lambda state: state == 4)
    assert space.explore() == Result(5, ("add 1", "skip"))
    assert space.explore("ones") == Result(4, None)


def test_all_states_are_visited_once() -> None:
    assert Space(0, count_up, lambda state: False).explore() == Result(10, None)


def test_too_many_states_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_STATES", 9)
    with pytest.raises(TooManyStatesError):
        Space(0, count_up, lambda state: False).explore()


@pytest.mark.parametrize(
    ("wrong", "conditions", "status"),
    [(4, {}, 1), (10, {"ones": ""}, 1), (6, {"ones": ""}, 1), (10, {}, 0)],
    ids=["counterexample", "needless condition", "both", "sound"],
)
def test_the_command_fails_if_a_model_is_not_as_it_has_to_be(
    wrong: int, conditions: dict[str, str], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Space(0, count_up, lambda state: state == wrong)
    monkeypatch.setattr(__main__, "MODELS", (Model(1, conditions, {}, (space,)),))
    assert __main__.main([]) == status
    assert __main__.main(["2"]) == 1


def test_the_command_prints_the_states_and_counterexamples(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(__main__, "MODELS", (MODELS[2],))
    assert __main__.main(["28"]) == 0
    printed = capsys.readouterr().out
    assert f"Rule 28: {MODELS[2].explore().states:,} states" in printed
    assert 'without the assumption "no return"' in printed
    assert "the filter is recorded; a record is in shard 0" in printed


def test_the_page_has_the_assumptions() -> None:
    assumed = {
        (int(rule), row[2])
        for row in list_rows("Assumptions about clocks", 3)
        for rule in row[0].split(", ")
    }
    assert assumed == {(model.rule, name) for model in MODELS for name in model.assumptions}


def test_the_waits_of_the_product_have_the_reserves_that_the_models_assume() -> None:
    """As on the page: seconds of the API's timeout, and of all attempts of a command's request."""
    pauses = 1.0 + 2.0
    command = REQUEST_ATTEMPTS * (REQUEST_TIMEOUT_S + 1.0) + pauses
    assert max(command, 29.0) + LEASE_S + 1.0 <= QUIET_S
    assert READERS_KNOW_S >= STATE_CACHE_S + 1.0
