"""The resources that differ between two CloudFormation templates, by the CDK team's own package.

The package ``@aws-cdk/cloudformation-diff`` knows for each property of each resource type whether
a change of it updates or replaces the resource.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from daicho_cli.local.instance import LocalError
from daicho_cli.local.programs import Program, find_tool, install_node_packages, install_programs
from daicho_cli.terminal import CommandError

SCRIPT = Path(__file__).with_name("template_diff.mjs")
NODE_FILES = tuple(SCRIPT.parent / "node" / f"package{end}.json" for end in ("", "-lock"))
PROGRAM = Program("template-diff", NODE_FILES, partial(install_node_packages, files=NODE_FILES))
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

    ``impact``: a ``ResourceImpact`` of the package (``WILL_REPLACE``). ``attributes``: all
    but the properties (``DeletionPolicy``, ``Metadata``). A type is None where the resource
    does not exist.
    """

    id: str
    type_before: str | None
    type_after: str | None
    impact: str
    properties: Sequence[ValueChange] = ()
    attributes: Sequence[ValueChange] = ()


def diff_templates(before: Template, after: Template, programs: Path) -> list[ResourceChange]:
    """Compare two templates. ``programs``: the folder to install the npm package into, once.

    Raises:
        CommandError: the package cannot be installed, or the comparison failed.
    """
    try:
        install_programs(programs, [PROGRAM])
        node = find_tool("node")
    except LocalError as error:
        raise CommandError(str(error)) from error
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
        raise CommandError(f"the templates cannot be compared: {reason.strip()}")
    return [_parse_resource(resource) for resource in json.loads(done.stdout)]


def _parse_resource(resource: Mapping[str, Any]) -> ResourceChange:
    values = {
        name: tuple(ValueChange(**value) for value in resource[name])
        for name in ("properties", "attributes")
    }
    return ResourceChange(**{**resource, **values})
