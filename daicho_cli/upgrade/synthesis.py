"""The CloudFormation templates of a project, without the CDK's command line.

A CDK app is a program: it reads its context and the output folder from its environment, as the
CDK's command line passes them, and writes a cloud assembly. Nothing is looked up in an account.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daicho_cli.upgrade.errors import UpgradeError

SUFFIX = ".template.json"
DEFAULT_APP = "app.py"


def synthesise(root: Path, context: Mapping[str, str]) -> dict[str, Any]:
    """The templates of the app of ``root``, by the stacks' names.

    ``context`` has precedence over the context in ``cdk.json`` and ``cdk.context.json``.

    Raises:
        UpgradeError: there is no app, it is not a Python file, or it failed.
    """
    configuration = _read_json(root / "cdk.json")
    app = find_app(root, str(configuration.get("app", "")))
    merged = {
        **configuration.get("context", {}),
        **_read_json(root / "cdk.context.json"),
        "aws:cdk:disable-asset-staging": True,  # assets are hashed, and not copied
        **context,
    }
    with tempfile.TemporaryDirectory() as output:
        done = subprocess.run(  # noqa: S603  # the project's own app, without a shell
            [sys.executable, app],
            cwd=root,
            env={
                **_list_environment(),
                "CDK_OUTDIR": output,
                "CDK_CONTEXT_JSON": json.dumps(merged),
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["it wrote no reason"]
            raise UpgradeError(f"{app.name} fails: {lines[-1]}")
        return {
            file.name.removesuffix(SUFFIX): _read_json(file)
            for file in sorted(Path(output).glob(f"**/*{SUFFIX}"))
        }


def find_app(root: Path, command: str) -> Path:
    """The Python file that the ``app`` of ``cdk.json`` runs.

    Raises:
        UpgradeError: it is missing, or no Python file.
    """
    files = [part for part in shlex.split(command or DEFAULT_APP) if part.endswith(".py")]
    if not files:
        raise UpgradeError(f"the app of cdk.json runs no Python file: {command}")
    app = root / files[-1]
    if not app.is_file():
        raise UpgradeError(f"{root} has no {files[-1]}: name the CDK app's file in cdk.json")
    return app


def _list_environment() -> dict[str, str]:
    """This process's environment, with the programs of its virtual environment first."""
    programs = Path(sys.executable).parent
    path = os.pathsep.join((str(programs), os.environ.get("PATH", "")))
    node = programs / "node"
    return {
        **os.environ,
        "PATH": path,
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
        **({"JSII_NODE": str(node)} if node.exists() else {}),
    }


def _read_json(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UpgradeError(f"{file} is not JSON: {error}") from error
    return content
