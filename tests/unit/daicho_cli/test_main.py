"""The list of subcommands: its summaries, and that showing it loads nothing large."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest
from typer.testing import CliRunner

from daicho_cli.aws import UndeployedError
from daicho_cli.main import SUBCOMMANDS, app, load_subcommand


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_a_summary_is_the_first_line_of_the_help(name: str) -> None:
    help_text = load_subcommand(name).help
    assert " ".join(help_text.split("\n\n")[0].split()) == SUBCOMMANDS[name].summary


def test_the_region_is_that_of_the_aws_cli(monkeypatch: pytest.MonkeyPatch) -> None:
    regions: list[str | None] = []

    def find_no_stack(stage: str, region: str | None = None) -> dict[str, str]:
        regions.append(region or boto3.Session().region_name)
        raise UndeployedError(f"there is no stack Daicho-{stage}")

    monkeypatch.setattr("daicho_cli.aws.read_outputs", find_no_stack)
    for names in ({"AWS_REGION": "eu-central-1"}, {}):
        monkeypatch.delenv("AWS_REGION", raising=False)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        for name, value in names.items():
            monkeypatch.setenv(name, value)
        assert "nothing is deployed" in CliRunner().invoke(app, ["status", "--stage", "dev"]).output
    assert regions == ["eu-central-1", "eu-west-1"]


def test_outside_a_project_a_command_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code is not that of records that are left."""
    monkeypatch.chdir(tmp_path)
    for command, code in (("redrive --stage dev", 2), ("plan", 1), ("generation", 1)):
        result = CliRunner().invoke(app, command.split())
        assert (result.exit_code, "no Daicho project" in result.output) == (code, True)
