"""Templates of an app, which is started as the CDK command line starts it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.synthesis import find_app, synthesise

APP = """
import json, os, pathlib, sys
context = json.loads(os.environ["CDK_CONTEXT_JSON"])
folder = pathlib.Path(os.environ["CDK_OUTDIR"])
(folder / "nested").mkdir()
(folder / f"Shop-{context['stage']}.template.json").write_text(json.dumps(context))
(folder / "nested/Other.template.json").write_text("{}")
(folder / "manifest.json").write_text("{}")
"""


def make_project(folder: Path, app: str, configuration: str = "{}") -> Path:
    (folder / "app.py").write_text(app)
    (folder / "cdk.json").write_text(configuration)
    return folder


def test_the_templates_of_all_stacks_are_read(tmp_path: Path) -> None:
    flags = {"app": "X=1 .venv/bin/python app.py", "context": {"flag": True, "stage": "prod"}}
    root = make_project(tmp_path, APP, json.dumps(flags))
    (root / "cdk.context.json").write_text('{"zones": ["a"]}')
    templates = synthesise(root, {"stage": "dev"})
    assert list(templates) == ["Shop-dev", "Other"]
    assert templates["Shop-dev"] == {
        "flag": True,
        "stage": "dev",
        "zones": ["a"],
        "aws:cdk:disable-asset-staging": True,
    }


def test_the_reason_of_a_failing_app_is_its_last_line(tmp_path: Path) -> None:
    root = make_project(tmp_path, "import sys\nsys.exit('first\\nnot deployed: no layer')")
    with pytest.raises(UpgradeError, match=r"^app\.py fails: not deployed: no layer$"):
        synthesise(root, {})
    root = make_project(tmp_path, "import os\nos._exit(3)")
    with pytest.raises(UpgradeError, match=r"^app\.py fails: it wrote no reason$"):
        synthesise(root, {})


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("", "app.py"),
        ('PATH="$PWD/.venv/bin:$PATH" .venv/bin/python app.py', "app.py"),
        ("python -m infra/app.py --verbose", "infra/app.py"),
    ],
)
def test_the_file_of_the_app(tmp_path: Path, command: str, file: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")
    assert find_app(tmp_path, command) == tmp_path / file


def test_an_app_that_cannot_be_run(tmp_path: Path) -> None:
    with pytest.raises(UpgradeError, match=r"has no app\.py: name the CDK app's file in cdk\.json"):
        find_app(tmp_path, "")
    with pytest.raises(UpgradeError, match=r"runs no Python file: npx ts-node app\.ts"):
        find_app(tmp_path, "npx ts-node app.ts")
    make_project(tmp_path, APP, "{")
    with pytest.raises(UpgradeError, match=r"cdk\.json is not JSON"):
        synthesise(tmp_path, {})
