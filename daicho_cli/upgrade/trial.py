"""Try a newer version on a copy of a project, and compare it with the installed version."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from daicho_cli.upgrade import uv
from daicho_cli.upgrade.change import Change
from daicho_cli.upgrade.describe import DescribedProject
from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.pin import find_pin, rewrite_pin

NOT_COPIED = (
    *(".git", ".local", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv"),
    *("__pycache__", "cdk.out", "node_modules"),
)
CONFIGURATION = "pyproject.toml"
Report = Callable[[str], None]


@dataclass(frozen=True)
class Comparison:
    """What a version changes. ``changelog``: its sections by version; ``lock_file``: its bytes."""

    current: Version
    target: Version
    changes: Sequence[Change]
    changelog: Mapping[str, str]
    lock_file: bytes


def try_version(
    project: DescribedProject,
    target: Version,
    *,
    stages: Sequence[str],
    context: Sequence[str],
    programs: Path,
    report: Report,
) -> Comparison:
    """Describe copies of the project by both versions, and compare the descriptions.

    The project itself is not changed. ``context``: of the CDK app, as ``name=value``. ``report``
    is called with each step before it begins. ``programs``: where npm packages are installed.

    Raises:
        UpgradeError: a version cannot be installed, or cannot read the project.
    """
    current = find_pin(_read_configuration(project.root)).version
    if not project.lock_file.is_relative_to(project.root):
        raise UpgradeError(f"{project.lock_file} is outside of {project.root}: move it there")
    lock = project.lock_file.relative_to(project.root)
    with tempfile.TemporaryDirectory(prefix="daicho-upgrade-") as name:
        folder = Path(name).resolve()
        before, after = folder / "before", folder / "after"
        for copy in (before, after):
            shutil.copytree(
                project.root, copy, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED)
            )
        options = [f"--stage={stage}" for stage in stages]
        options += [f"--context={pair}" for pair in context]

        report(f"describing the project by {current}")
        old = folder / "before.json"
        arguments: list[Path | str] = [old, "--locked", *options]
        run_module(sys.executable, "describe", arguments, before, f"daicho {current}")

        report(f"installing {target} into a temporary environment")
        configuration = rewrite_pin(_read_configuration(after), target)
        (after / CONFIGURATION).write_text(configuration, encoding="utf-8")
        python = uv.create_environment(after, find_pin(configuration), folder / "environment")

        report(f"describing the project by {target}")
        new = folder / "after.json"
        run_module(python, "describe", [new, *options], after, f"daicho {target}")
        result = folder / "result.json"
        files = (old, new, result)
        option = f"--programs={programs}"
        run_module(python, "compare", [*files, option], after, f"daicho {target}")
        compared = json.loads(result.read_text(encoding="utf-8"))
        return Comparison(
            current,
            target,
            [Change.from_json(each) for each in compared["changes"]],
            {each["version"]: each["text"] for each in compared["changelog"]},
            (after / lock).read_bytes(),
        )


def run_module(
    python: Path | str, module: str, arguments: Sequence[Path | str], folder: Path, subject: str
) -> None:
    """Run a module of this package as a program, in the version of an interpreter.

    Raises:
        UpgradeError: it failed; the message is the last line that it wrote, after ``subject``.
    """
    done = subprocess.run(  # noqa: S603  # our own module, without a shell
        [python, "-P", "-m", f"{__package__}.{module}", *arguments],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise UpgradeError(f"{subject} cannot be tried on this project: {lines[-1]}")


def _read_configuration(root: Path) -> str:
    return (root / CONFIGURATION).read_text(encoding="utf-8")
