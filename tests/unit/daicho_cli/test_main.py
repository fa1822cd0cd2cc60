"""The list of subcommands: its summaries, and that showing it loads nothing large."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from daicho_cli.main import SUBCOMMANDS, app, load_subcommand

LARGE = ("boto3", "botocore", "pydantic", "aws_lambda_powertools", "duckdb", "aws_cdk", "domains")


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_a_summary_is_the_first_line_of_the_help(name: str) -> None:
    help_text = load_subcommand(name).help
    assert " ".join(help_text.split("\n\n")[0].split()) == SUBCOMMANDS[name].summary


def test_the_list_loads_no_subcommand() -> None:
    script = (
        "import atexit, json, sys\n"
        f"atexit.register(lambda: print(json.dumps([m for m in {LARGE!r} if m in sys.modules])))\n"
        "sys.argv = ['daicho', '--help']\n"
        "from daicho_cli.__main__ import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "generation" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_a_similar_name_is_suggested() -> None:
    result = CliRunner().invoke(app, ["generaton"])
    assert result.exit_code == 2
    assert "generation" in result.output
