"""``daicho cost`` for a project's declarations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from daicho_cli.cost import command
from daicho_cli.main import app
from tests.unit.daicho_cli.cost.shop import LEDGER, SHOP

TRAFFIC = "[entities.Product]\ncreates = {count}\nexamples = [{{title = 'chair', price = 1}}]\n"


@pytest.fixture(autouse=True)
def _shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "discover_project", lambda: SHOP)
    monkeypatch.setattr(command, "load_ledger", lambda: LEDGER)


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["cost", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def write_traffic(folder: Path, count: int) -> Path:
    file = folder / f"{count}.toml"
    file.write_text(TRAFFIC.format(count=count), "utf-8")
    return file


def test_without_a_file_the_default_traffic_is_estimated() -> None:
    output = run().stdout
    assert "Capacity units by declaration" in output
    assert "default traffic" in output


def test_an_example_is_written_once_and_can_be_estimated(tmp_path: Path) -> None:
    file = tmp_path / "traffic.toml"
    assert f"written: {file}" in run("--example", file).stderr.replace("\n", "")
    document = json.loads(run(file, "--json").stdout)
    default = json.loads(run("--json").stdout)
    assert document["dollars"] == pytest.approx(default["dollars"], rel=1e-3)
    assert "exists already" in run("--example", file, code=2).stderr


def test_the_bill_without_traffic(tmp_path: Path) -> None:
    document = json.loads(run("--idle", "--json").stdout)
    assert document["dollars"] == document["idle_dollars"] == pytest.approx(2.84, abs=0.01)
    assert "no traffic" in run("--idle").stdout
    file = write_traffic(tmp_path, 1)
    assert "--idle has no traffic" in run(file, "--idle", code=2).stderr


def test_two_traffic_files_are_compared_and_drawn(tmp_path: Path) -> None:
    one, two = write_traffic(tmp_path, 1_000), write_traffic(tmp_path, 2_000_000)
    picture = tmp_path / "bill.svg"
    result = run(one, "--against", two, "--plot", picture)
    assert "difference" in result.stdout
    text = picture.read_text("utf-8")
    assert text.startswith("<svg")
    assert "font-face" not in text  # a reader fetches nothing
    document = json.loads(run(one, "--against", two, "--json").stdout)
    assert document["against"]["traffic"] == "2000000.toml"
    assert document["difference_dollars"] > 1


def test_periods_of_different_lengths_are_not_compared(tmp_path: Path) -> None:
    week = tmp_path / "week.toml"
    week.write_text("days = 7", "utf-8")
    output = run("--against", week, code=2).stderr
    assert "default traffic is of 30 days" in output
    assert "week.toml of 7: compare the same period" in output.replace("\n", "")


def test_two_declarations_are_compared(tmp_path: Path) -> None:
    plain = LEDGER.to_json()
    plain["entities"]["Product"][0]["plan"]["searches"] = []
    older = tmp_path / "older.json"
    older.write_text(json.dumps(plain), "utf-8")
    traffic = write_traffic(tmp_path, 1_000_000)
    document = json.loads(run(traffic, "--against-ledger", older, "--json").stdout)
    assert document["against"]["traffic"] == "older.json"
    # Without the search, its six posting lists of "chair" cost nothing: 12 units an item.
    services = document["services"]["DynamoDB"], document["against"]["services"]["DynamoDB"]
    assert services[0] - services[1] > 12 * 0.625 * 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.toml"], "none.toml"),
        (["--region", "mars-1"], "no prices of mars-1"),
        (["--against-ledger", "none.json"], "none.json"),
    ],
)
def test_what_is_wrong_ends_the_command(arguments: list[str], message: str) -> None:
    assert message in run(*arguments, code=2).stderr


def test_the_most_that_each_route_takes() -> None:
    lines = run("--worst").stdout.splitlines()
    assert "bounded by" in lines[0]
    assert json.loads(run("--worst", "--json").stdout) == []  # the shop has no routes
