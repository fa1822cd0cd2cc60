"""Generated files are what the declarations say: `make generate` writes them."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from daicho_cli.generate.openapi import write_or_check
from daicho_cli.main import app


@pytest.mark.parametrize("command", ["generation", "docs", "openapi"])
def test_a_committed_file_has_not_drifted(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--check"])
    assert result.exit_code == 0, result.output


def test_drift_is_noticed_and_mended(tmp_path: Any) -> None:
    path = tmp_path / "page.md"
    runner = CliRunner()
    assert runner.invoke(app, ["docs", "--path", str(path), "--check"]).exit_code == 1
    assert not path.exists()
    assert runner.invoke(app, ["docs", "--path", str(path)]).exit_code == 0
    assert runner.invoke(app, ["docs", "--path", str(path), "--check"]).exit_code == 0
    path.write_text(path.read_text("utf-8") + " ", "utf-8")
    result = runner.invoke(app, ["docs", "--path", str(path), "--check"])
    assert (result.exit_code, "run make docs" in result.output) == (1, True)
    write_or_check(path, lambda *_: "other", check=False, make="make docs")
    assert path.read_text("utf-8") == "other"
