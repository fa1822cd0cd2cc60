"""The app of this repository: what it deploys to production, and how it ends if it cannot."""

from __future__ import annotations

import json
import runpy
import subprocess
from functools import partial
from pathlib import Path

import aws_cdk as cdk
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


def test_a_wrong_option_ends_the_app_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cdk, "App", partial(cdk.App, context={"stage": "local"}))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "app.py"))
    sentence = str(ended.value)
    assert sentence.startswith("not deployed: stage local needs local_layer, ")
    assert "daicho local up" in sentence
