"""The templates of all stages under cfn-lint, in three Regions."""

import json
from pathlib import Path

from tests.infra.linting import lint
from tests.infra.synthesis import Synthesis


def test_cfn_lint_finds_nothing(any_stage: Synthesis) -> None:
    assert lint(any_stage.folder / f"{any_stage.name}.template.json") == []


def test_cfn_lint_would_find_something(tmp_path: Path) -> None:
    wrong = tmp_path / "Wrong.template.json"
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"Colour": "red"}}
    wrong.write_text(json.dumps({"Resources": {"Topic": topic}}))
    (found,) = lint(wrong)
    assert found.startswith("E3002 Resources/Topic/Properties/Colour: ")
