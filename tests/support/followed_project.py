"""A new project in which a page is followed: edits, files and commands, then the project's tests.

Commands of the library and tests run in processes that are forked from one that has imported
everything, in a fifth of the time of new ones.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from daicho_cli.init.command import create_project
from tests.support.commands import CommandFailed, run_command
from tests.support.how_to_page import Block, Edit, HowToPage
from tests.support.repository import ROOT

FORKS = multiprocessing.get_context("forkserver")
PLUGIN = "daicho.testing.pytest_plugin"
FORKS.set_forkserver_preload(
    [
        *("pytest", "daicho.testing.check", "daicho.testing.memory_deployment"),
        *("daicho.book.totals", "daicho.web.api", "daicho.web.openapi", "daicho_cli.generation"),
    ]
)
DAICHO = ".venv/bin/daicho"
GENERATE = tuple(f"{DAICHO} {name}" for name in ("generation", "docs", "openapi"))
"""What ``make generate`` of the repository runs."""
PATHS = (
    (r"(?<= )functions$", "domains generations.json"),
    (r"\bfunctions/(?=domains|migrations|generations)", ""),
    (r"(?<= )examples/", f"{ROOT}/examples/"),
)
"""Paths of the repository, and where a project has the same files."""
FAULT_TEST = """
def test_everything_is_exact_under_faults(daicho_faults):
    daicho_faults.check(schedules=200)
"""


@dataclass(frozen=True)
class FollowedProject:
    """A project in a folder, which is a git repository. ``domain``: the file that pages edit."""

    folder: Path
    domain: str = "products.py"

    @classmethod
    def create(cls, folder: Path) -> FollowedProject:
        """Make a project as `daicho init` does, with its generated files in a first commit."""
        create_project("shop", folder)
        project = cls(folder)
        for command in GENERATE:
            project.run(command)
        project.run("git init --quiet --initial-branch=main")
        project.run("git config user.name Ann && git config user.email ann@example.com")
        return project

    def copy(self, folder: Path, domain: str = "", undone: Sequence[Edit] = ()) -> FollowedProject:
        """Copy it to another folder.

        ``domain``: a file of the repository, which replaces its domain file. ``undone``: edits that
        the file has already, and begins without.
        """
        shutil.copytree(self.folder, folder)
        if not domain:
            return FollowedProject(folder)
        text = (ROOT / domain).read_text("utf-8")
        for edit in undone:
            text = edit.undo(text)
        project = FollowedProject(folder, Path(domain).name)
        for replaced in ("domains/products.py", "tests/test_products.py", "generations.json"):
            (folder / replaced).unlink()
        (folder / "domains" / project.domain).write_text(text, "utf-8")
        (folder / "tests/test_faults.py").write_text(FAULT_TEST, "utf-8")
        return project

    def commit(self, tag: str) -> None:
        """Append the generations of the declarations, and commit all files under a tag."""
        self.run(f"{DAICHO} generation --accept")
        self.run(f"git add --all && git commit --quiet --allow-empty -m {tag} && git tag {tag}")

    def edit(self, edit: Edit) -> None:
        """Make an edit of a page in the domain file."""
        file = self.folder / "domains" / self.domain
        file.write_text(edit.apply(file.read_text("utf-8")), "utf-8")

    def follow(self, page: HowToPage) -> None:
        """Take the steps of a page that need a project alone.

        Raises:
            CommandFailed: a command ended with another status than 0.
            AssertionError: one printed something else than the page shows.
        """
        for block in page.blocks:
            self._take_files(block)
            for command in block.commands:
                if command.need == "project":
                    command.check(self.run(command.line))

    def _take_files(self, block: Block) -> None:
        if block.language == "diff":
            self.edit(Edit.parse(block.text))
        elif block.mark == "file":
            path = self.folder / block.value
            path.parent.mkdir(exist_ok=True)
            if path.suffix == ".py":
                (path.parent / "__init__.py").touch()
            path.write_text(block.text, "utf-8")
        elif block.copied_to:
            shutil.copy(ROOT / block.title, self.folder / block.copied_to)

    def run(self, line: str) -> str:
        """Run a command of a page; what it prints.

        Raises:
            CommandFailed: it ended with another status than 0.
        """
        if line == "make generate":
            return "".join(self.run(command) for command in GENERATE)
        if line == "make test":
            return ""  # every page ends with it
        for pattern, path in PATHS:
            line = re.sub(pattern, path, line)
        program, *arguments = shlex.split(line, comments=True)
        if program == DAICHO:
            statuses = (0, 2) if arguments[0] == "contract" else (0,)
            return self._run_forked("daicho_cli", *arguments, statuses=statuses)
        return run_command("bash", "-euc", line, folder=self.folder)

    def run_tests(self, schedules: int) -> str:
        """Run the project's tests, as ``make test`` does, with so many schedules of faults.

        Raises:
            CommandFailed: one of them failed.
        """
        options = ("-q", "-p", "no:cacheprovider", "-p", PLUGIN)
        return self._run_forked("pytest", *options, f"--daicho-schedules={schedules}")

    def _run_forked(self, module: str, *arguments: str, statuses: tuple[int, ...] = (0,)) -> str:
        printed = self.folder.with_suffix(".printed")
        target = (self.folder, printed, module, arguments)
        process = FORKS.Process(target=_run_module, args=target)
        process.start()
        process.join()
        text = printed.read_text("utf-8")
        if process.exitcode not in statuses:
            raise CommandFailed(f"{module} {' '.join(arguments)}:\n{text}")
        return text


def _run_module(folder: Path, printed: Path, module: str, arguments: tuple[str, ...]) -> None:
    """In the forked process: run a module as ``python -m`` does, in the folder."""
    descriptor = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.chdir(folder)
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # those of other packages load for a second
    os.environ["COLUMNS"] = "200"  # so that no cell of a table is wrapped
    sys.dont_write_bytecode = True  # else a file that is edited within a second is not read again
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
