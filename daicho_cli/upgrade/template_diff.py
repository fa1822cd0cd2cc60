"""The differences between two CloudFormation templates, from the AWS CDK team's own package.

The package ``@aws-cdk/cloudformation-diff`` knows for each property of each resource type whether
a change of it updates or replaces the resource.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from daicho_cli.local.instance import LocalError
from daicho_cli.local.programs import Program, find_tool, install_node_packages, install_programs
from daicho_cli.upgrade.errors import UpgradeError

SCRIPT = Path(__file__).with_name("template_diff.mjs")
NODE_FILES = tuple(SCRIPT.parent / "node" / f"package{end}.json" for end in ("", "-lock"))
PROGRAM = Program("upgrade", NODE_FILES, partial(install_node_packages, files=NODE_FILES))
Template = Mapping[str, Any]


@dataclass(frozen=True)
class ValueChange:
    """One value that differs; None where it does not exist. ``impact``: on its resource, or ''."""

    name: str
    before: Any
    after: Any
    impact: str = ""


@dataclass(frozen=True)
class ResourceChange:
    """One resource that differs.

    ``impact``: a ``ResourceImpact`` of the package (``WILL_REPLACE``). ``attributes``: what is
    beside the properties (``DeletionPolicy``, ``Metadata``). A type is None where the resource
    does not exist.
    """

    id: str
    type_before: str | None
    type_after: str | None
    impact: str
    properties: tuple[ValueChange, ...] = ()
    attributes: tuple[ValueChange, ...] = ()

    @property
    def type(self) -> str:
        """The resource type, the new one if both differ."""
        return self.type_after or self.type_before or ""


@dataclass(frozen=True)
class TemplateDiff:
    """All differences of a template. ``sections``: what differs besides resources, by section."""

    resources: tuple[ResourceChange, ...] = ()
    sections: Mapping[str, tuple[ValueChange, ...]] = field(default_factory=dict)
    permissions_broadened: bool = False


def diff_templates(before: Template, after: Template, programs: Path) -> TemplateDiff:
    """Compare two templates. ``programs``: the folder to install the npm package into, once.

    Raises:
        UpgradeError: the package cannot be installed, or the comparison failed.
    """
    try:
        install_programs(programs, [PROGRAM])
        node = find_tool("node")
    except LocalError as error:
        raise UpgradeError(str(error)) from error
    modules = programs / PROGRAM.name / "node_modules"
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("before.json", "after.json")]
        for file, template in zip(files, (before, after), strict=True):
            file.write_text(json.dumps(template), encoding="utf-8")
        done = subprocess.run(  # noqa: S603  # our own script, without a shell
            [node, SCRIPT, modules, *files],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "Error" in line), done.stderr)
        raise UpgradeError(f"the templates cannot be compared: {reason.strip()}")
    return parse_diff(json.loads(done.stdout))


def parse_diff(data: Mapping[str, Any]) -> TemplateDiff:
    """Read what ``template_diff.mjs`` writes."""
    return TemplateDiff(
        tuple(
            ResourceChange(
                each["id"],
                each.get("type_before"),
                each.get("type_after"),
                each["impact"],
                _parse_values(each["properties"]),
                _parse_values(each["attributes"]),
            )
            for each in data["resources"]
        ),
        {name: _parse_values(values) for name, values in data["sections"].items() if values},
        data["permissions_broadened"],
    )


def _parse_values(values: list[dict[str, Any]]) -> tuple[ValueChange, ...]:
    return tuple(
        ValueChange(each["name"], each.get("before"), each.get("after"), each.get("impact") or "")
        for each in values
    )
