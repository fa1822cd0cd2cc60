"""The bills of materials: valid CycloneDX, and exactly what the lock files pin."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement

from daicho.cdk.functions import assets as layer
from daicho.web.console.files import VENDORED_MODULES
from supply_chain.bill_of_materials import BILLS, build_bill
from supply_chain.locks import (
    LAYER,
    NODE_LOCKS,
    PYTHON_LOCKS,
    ROOT,
    VENDORED,
    merge_pins,
    read_pins,
)


@cache
def write(name: str) -> str:
    return build_bill(name, merge_pins(BILLS[name]))


def build(name: str) -> dict[str, Any]:
    bill: dict[str, Any] = json.loads(write(name))
    return bill


@pytest.mark.parametrize("name", BILLS)
def test_a_bill_is_valid_by_the_schema(name: str) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    bill = build(name)
    assert validator.validate_str(json.dumps(bill)) is None
    bill["components"][0]["type"] = "thing"
    assert validator.validate_str(json.dumps(bill)) is not None


def list_deployed(registry: str) -> list[dict[str, Any]]:
    """The components of the deployed bill that come from a registry."""
    components = build("deployed")["components"]
    return [each for each in components if each["purl"].startswith(f"pkg:{registry}/")]


def test_the_deployed_bill_lists_exactly_the_packages_and_hashes_of_the_layer() -> None:
    text = layer.REQUIREMENTS.read_text("utf-8").replace("\\\n", " ")
    locked = {}
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            requirement = Requirement(line.partition(" --hash")[0])
            version = str(requirement.specifier).removeprefix("==")
            hashes = sorted(re.findall(r"sha256:([0-9a-f]{64})", line))
            locked[f"pkg:pypi/{requirement.name}@{version}"] = hashes
    components = list_deployed("pypi")
    listed = {c["purl"]: sorted(h["content"] for h in c["hashes"]) for c in components}
    assert len(listed) > 10
    assert listed == locked
    assert {h["alg"] for c in components for h in c["hashes"]} == {"SHA-256"}


def test_the_deployed_bill_lists_every_script_that_the_console_has_of_others() -> None:
    files = {path.name for path in (ROOT / VENDORED).parent.iterdir()} - {"README.md"}
    page = (ROOT / VENDORED).read_text("utf-8")
    packages = dict(re.findall(r"^\| `(\S+)` \| (\S+ \S+) \|", page, re.MULTILINE))
    assert packages.keys() == files
    components = list_deployed("npm")
    listed = {f"{c.get('group', '')}/{c['name']} {c['version']}".lstrip("/") for c in components}
    assert listed == set(packages.values())
    assert {len(h["content"]) for c in components for h in c["hashes"]} == {128}
    served = {path for path in VENDORED_MODULES.values() if path.startswith("vendor/")}
    assert {path.removeprefix("vendor/") for path in served} <= packages.keys()


def test_a_vendored_file_has_the_hash_of_its_row() -> None:
    page = (ROOT / VENDORED).read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\S+)` \| .* \| `([0-9a-f]{64})` \|$", page, re.MULTILINE))
    assert len(rows) > 10
    folder = (ROOT / VENDORED).parent
    found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in rows}
    assert found == rows


@pytest.mark.parametrize("lost", ["| htm 3.1.1 | <", "| `htm"])
def test_a_vendored_package_without_its_row_is_refused(tmp_path: Path, lost: str) -> None:
    page = (ROOT / VENDORED).read_text("utf-8")
    lines = [line for line in page.splitlines() if not line.startswith(lost)]
    (tmp_path / "README.md").write_text("\n".join(lines), "utf-8")
    with pytest.raises(ValueError, match=r"htm 3\.1\.1"):
        read_pins("README.md", tmp_path)


def test_every_deployed_package_names_its_licence() -> None:
    bill = build("deployed")
    assert [c["name"] for c in bill["components"] if not c.get("licenses")] == []
    by_name = {c["name"]: c["licenses"] for c in bill["components"]}
    assert by_name["boto3"] == [{"license": {"id": "Apache-2.0"}}]


def test_the_deployed_bill_says_what_requires_what() -> None:
    depends = {d["ref"]: d.get("dependsOn", []) for d in build("deployed")["dependencies"]}
    direct = {re.split(r"[/@]", ref)[1] for ref in depends["daicho"] if "pkg:pypi/" in ref}
    declared = (ROOT / LAYER).with_suffix(".in").read_text("utf-8")
    assert direct == set(re.findall(r"^([a-z0-9-]+)(?:\[|==)", declared, re.MULTILINE))
    boto3 = next(ref for ref in depends if ref.startswith("pkg:pypi/boto3@"))
    assert any(ref.startswith("pkg:pypi/botocore@") for ref in depends[boto3])


def test_the_development_bill_lists_every_other_lock_file() -> None:
    listed = {component["purl"] for component in build("development")["components"]}
    assert "pkg:npm/%40dynoxide/linux-x64@1.2.1" in listed
    for lock in (*PYTHON_LOCKS, *NODE_LOCKS):
        if lock != LAYER:
            for pin in read_pins(lock):
                name = pin.name.replace("@", "%40")
                assert f"pkg:{pin.registry}/{name}@{pin.version}" in listed, lock


def test_every_lock_file_of_the_repository_is_known() -> None:
    done = subprocess.run(
        ["git", "ls-files", "*requirements*.txt", "*package-lock.json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert sorted(done.stdout.split()) == sorted((*PYTHON_LOCKS, *NODE_LOCKS))


def test_the_same_lock_files_give_the_same_bill() -> None:
    pins = merge_pins(BILLS["deployed"])
    assert build_bill("deployed", pins) == build_bill("deployed", pins)
    assert build_bill("deployed", pins) != build_bill("deployed", pins[:-1])


@pytest.mark.parametrize("line", ["boto3==1.44.5\n", "boto3>=1 \\\n    --hash=sha256:00\n"])
def test_a_package_without_a_hash_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "requirements.txt").write_text(line, "utf-8")
    with pytest.raises(ValueError, match="run make lock"):
        read_pins("requirements.txt", tmp_path)
