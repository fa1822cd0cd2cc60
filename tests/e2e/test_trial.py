"""``daicho trial`` on a local AWS: ended by the system at a random moment, and repeated."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from daicho_cli.trial.command import FOLDER
from tests.support.repository import ROOT
from tests.support.trials import IS_TRIAL

COMMAND = (sys.executable, "-m", "daicho_cli", "trial", "--local", "--hours", "0.02", "--yes")


@pytest.mark.skipif(not IS_TRIAL, reason="takes minutes: make trials")
def test_it_is_interrupted_and_goes_on_to_its_end(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    command = (*COMMAND, "--report", str(report))
    moment = random.Random(str(tmp_path)).uniform(30, 150)
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.terminate()
        assert process.wait(60) == 130
        process = subprocess.Popen(command, cwd=ROOT)
    assert process.wait(1200) == 0, report.read_text("utf-8")
    text = report.read_text("utf-8")
    assert "UPDATE_ROLLBACK_COMPLETE" in text
    assert "| everything stored, compared with the base items | passed |" in text
    assert not (FOLDER / "local/progress.json").exists()
    assert not (FOLDER / "local/local/stack.json").exists()
