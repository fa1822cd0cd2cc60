"""Two descriptions compared, and what is written for the older version to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daicho_cli.upgrade import compare
from daicho_cli.upgrade.change import Area, Change
from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.template_diff import ResourceChange, TemplateDiff

ALARM = "AWS::CloudWatch::Alarm"


def build(version: str, **changed: Any) -> dict[str, Any]:
    generations = [{"generation": 1, "plan": {"fields": {}}}]
    return {
        "version": version,
        "ledger": {"entities": {"Order": generations}},
        "api": {"paths": {"/orders": {"get": {}}}},
        "templates": {"dev": {"Shop-dev": {"Resources": {}}}},
        **changed,
    }


def diff_resources(before: Any, after: Any, programs: Path) -> TemplateDiff:
    """Added and removed alarms, without Node.js."""
    old, new = before["Resources"].keys(), after["Resources"].keys()
    assert programs.name == "programs"
    return TemplateDiff(
        (
            *(ResourceChange(id, None, ALARM, "WILL_CREATE") for id in sorted(new - old)),
            *(ResourceChange(id, ALARM, None, "WILL_DESTROY") for id in sorted(old - new)),
        )
    )


def run(tmp_path: Path, before: dict[str, Any], after: dict[str, Any]) -> int:
    for name, content in (("old", before), ("new", after)):
        (tmp_path / name).write_text(json.dumps(content))
    files = [str(tmp_path / name) for name in ("old", "new", "result")]
    return compare.main([*files, f"--programs={tmp_path / 'programs'}"])


@pytest.fixture(autouse=True)
def without_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "diff_templates", diff_resources)


def test_the_changes_of_all_areas_are_written(tmp_path: Path) -> None:
    after = build(
        "0.2.0",
        ledger={"entities": {"Order": [{"generation": n, "plan": {"fields": {}}} for n in (1, 2)]}},
        api={"paths": {}},
        templates={"dev": {"Shop-dev": {"Resources": {"A": {}}}}},
    )
    assert run(tmp_path, build("0.1.0"), after) == 0
    result = json.loads((tmp_path / "result").read_text())
    changes = [Change.from_json(each) for each in result["changes"]]
    assert [(change.area, change.rule) for change in changes] == [
        (Area.RESOURCES, "resource-added"),
        (Area.GENERATIONS, "generation-added"),
        (Area.API, "removed-operation"),
    ]


def test_equal_descriptions_have_no_changes(tmp_path: Path) -> None:
    assert run(tmp_path, build("0.1.0"), build("0.1.1")) == 0
    assert json.loads((tmp_path / "result").read_text())["changes"] == []


def test_a_stack_that_is_gone_has_lost_its_resources() -> None:
    before = build("0.1.0", templates={"dev": {"Old": {"Resources": {"A": {}}}}})
    after = build("0.2.0", templates={"dev": {"New": {"Resources": {"A": {}}}}})
    changes = compare.compare_descriptions(before, after, Path("programs"))
    assert [change.sentence.rpartition(" ")[2] for change in changes] == ["(Old)", "(New)"]


def test_the_sections_of_the_changelog_are_between_the_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changelog = "## [0.3.0]\n\nlater\n\n## [0.2.0]\n\nnow\n\n## [0.1.0]\n\nbefore\n"
    monkeypatch.setattr(compare, "read_changelog", lambda: changelog)
    assert run(tmp_path, build("0.1.0"), build("0.2.0")) == 0
    result = json.loads((tmp_path / "result").read_text())
    assert result["changelog"] == [{"version": "0.2.0", "text": "now"}]


def test_an_expected_error_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> TemplateDiff:
        raise UpgradeError("npm is missing")

    monkeypatch.setattr(compare, "diff_templates", fail)
    assert run(tmp_path, build("0.1.0"), build("0.2.0")) == 1
    assert capsys.readouterr().err == "npm is missing\n"
