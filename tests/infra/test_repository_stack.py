"""The app of this repository: what it deploys to production, and how it ends if it cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.stack import check_demonstration
from tests.support.repository import ROOT


def test_own_domains_are_no_demonstration() -> None:
    check_demonstration(["tickets", "shop"], allowed=False)


@pytest.mark.parametrize("folder", [ROOT, ROOT / "daicho_cli/init/templates"])
def test_cdk_without_an_installation_ends_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    command = json.loads((folder / "cdk.json").read_text("utf-8"))["app"]
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "not deployed: .venv is missing; run make synth once, which installs it\n"
    )


def test_a_wrong_option_ends_the_app_in_one_sentence() -> None:
    context = json.dumps({"stage": "local"})
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "functions", "CDK_CONTEXT_JSON": context},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = [each for each in done.stderr.splitlines() if not each.startswith("b'")]
    assert line.startswith("not deployed: stage local needs local_layer, ")
    assert "daicho local up" in line
