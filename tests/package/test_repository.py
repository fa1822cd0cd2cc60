"""The files for contributors: there, valid by their schemas, and true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from daicho.cdk.functions.assets import LAMBDA_ARM64
from daicho.runtime.version import VERSION
from tests.package.test_metadata import PYTHONS

ROOT = Path(__file__).parents[2]
CHECK = Path(sys.executable).parent / "check-jsonschema"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [ROOT / ".github/ISSUE_TEMPLATE/config.yml"],
    "vendor.dependabot": [ROOT / ".github/dependabot.yml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}
PINNED = re.compile(r"uses: ([\w.-]+/[\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$")
MAX_MINUTES = 360
MAY_BE_BINARY = re.compile(r"docs/images/|functions/daicho/web/console/static/|tests/.*/fixtures/")


def read_yaml(path: Path) -> Any:
    """The content of a YAML file."""
    return YAML(typ="safe").load(path.read_text("utf-8"))


def list_targets() -> set[str]:
    """The targets of the Makefile."""
    text = (ROOT / "Makefile").read_text("utf-8")
    return set(re.findall(r"^([a-z0-9-]+)(?: [a-z0-9 -]+)?:", text, re.MULTILINE))


def check(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    """Validate files by a schema that the checker brings."""
    command = [CHECK, "--builtin-schema", schema, *files]
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_files_are_valid_by_their_schemas(schema: str) -> None:
    assert SCHEMAS[schema]
    done = check(schema, *SCHEMAS[schema])
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_workflow_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text("utf-8").replace("runs-on:", "run-on:"), "utf-8")
    assert check("vendor.github-workflows", wrong).returncode == 1


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_actions_limits_its_time_and_names_targets(path: Path) -> None:
    text = path.read_text("utf-8")
    uses = [line for line in text.splitlines() if "uses:" in line]
    assert [line for line in uses if not PINNED.search(line)] == []
    workflow = read_yaml(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert 0 < job["timeout-minutes"] <= MAX_MINUTES
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), "an expression in a script can inject code"
    commands = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    targets = re.findall(r"make ([a-z0-9 -]+)", " ; ".join(commands))
    named = {target for words in targets for target in words.split()}
    matrices = [job.get("strategy", {}).get("matrix", {}) for job in workflow["jobs"].values()]
    assert named | {t for m in matrices for t in m.get("target", ())} <= list_targets()


def test_the_matrix_has_every_python_and_every_platform() -> None:
    matrix = read_yaml(ROOT / ".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert tuple(matrix["python"]) == PYTHONS
    assert LAMBDA_ARM64.python in matrix["python"], "what is deployed is not tested"
    assert [machine.partition("-")[0] for machine in matrix["machine"]] == [
        "ubuntu", "ubuntu", "macos",
    ]  # fmt: skip


def test_hooks_run_the_programs_of_the_environment() -> None:
    (repository,) = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert (Path(sys.executable).parent / program).exists(), hook["id"]
        re.compile(hook.get("files", ""))


@pytest.mark.parametrize("name", ["AGENTS.md", "llms.txt", ".github/SUPPORT.md"])
def test_files_that_list_pages_name_files_that_exist(name: str) -> None:
    page = ROOT / name
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert len(targets) >= 3
    assert [each for each in targets if not (page.parent / each).is_file()] == []


def test_the_development_container_has_the_deployed_python() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert f"/python:{LAMBDA_ARM64.python}-" in container["image"]
    assert container["postCreateCommand"].removeprefix("make ") in list_targets()


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "APPENDIX: How to apply the Apache License to your work." in text
    assert len(text.splitlines()) == 202


def list_named_files(notice: str) -> list[str]:
    """The files that begin a line of the notice, as patterns."""
    folders = "functions|bench|demonstration|tests"
    return re.findall(rf"^(?:in )?((?:{folders})/[\w./*]+)", notice, re.MULTILINE)


def test_the_notice_names_files_that_exist() -> None:
    text = (ROOT / "NOTICE").read_text("utf-8")
    named = list_named_files(text)
    assert len(named) >= 2
    assert [pattern for pattern in named if not list(ROOT.glob(pattern))] == []
    assert "UNICODE LICENSE V3" in text


def test_the_changelog_ends_with_the_version_or_begins_with_what_is_unreleased() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == "Unreleased"
    assert headings[1:2] in ([], [VERSION])


def test_text_files_have_the_line_endings_of_unix_and_binary_files_are_where_they_may_be() -> None:
    """Images of the documentation, files of the console, and fixtures may be binary."""
    assert "* text=auto eol=lf\n" in (ROOT / ".gitattributes").read_text("utf-8")
    listed = subprocess.run(
        ["git", "ls-files", "--eol"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert len(listed) > 700
    assert [line for line in listed if "i/crlf" in line or "i/mixed" in line] == []
    binary = [line.split("\t")[1] for line in listed if line.startswith("i/-text")]
    assert "docs/images/console/poll.png" in binary
    assert [name for name in binary if not MAY_BE_BINARY.match(name)] == []


def test_the_audit_runs_each_week_and_before_a_release() -> None:
    workflow = read_yaml(ROOT / ".github/workflows/audit.yml")
    triggers = workflow.get("on", workflow.get(True))
    assert triggers["schedule"]
    assert triggers["pull_request"]["paths"] == ["**/requirements*.txt", "**/package-lock.json"]
    for name, job in (("audit", "audit"), ("release", "build")):
        steps = read_yaml(ROOT / f".github/workflows/{name}.yml")["jobs"][job]["steps"]
        targets = {word for step in steps for word in step.get("run", "").split()}
        assert "audit" in targets, name
        assert not any(step.get("continue-on-error") for step in steps)
