"""``daicho contract``: whether the declarations keep the API's contract."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from daicho.declare.registry import Daicho
from daicho.errors import ProjectError
from daicho.plan import Ledger
from daicho_cli.contract.changes import ContractChange, Severity
from daicho_cli.contract.operations import compare_descriptions
from daicho_cli.options import AsJson
from daicho_cli.project import discover_project, find_project, load_ledger
from daicho_cli.terminal import end_on_errors, print_json

DESCRIPTION = Path("docs/reference/openapi.json")
"""Where `daicho openapi` writes the description of a project, below its folder."""
HEAD = "HEAD"


class ContractError(ProjectError):
    """A description cannot be read; the message is one sentence with the remedy."""


@dataclass(frozen=True)
class ContractCheck:
    """The changes since a description. ``against``: the file or the git revision that has it."""

    against: str
    changes: tuple[ContractChange, ...]

    @property
    def is_breaking(self) -> bool:
        """Whether clients of the description may fail."""
        return any(change.is_breaking for change in self.changes)


def compare_with_committed(
    daicho: Daicho, ledger: Ledger, root: Path, against: str | None = None
) -> ContractCheck:
    """Compare the declarations with the description that is committed in the project at ``root``.

    ``against`` is a file, or a git revision such as ``origin/main``. By default it is the last
    commit, and the file in the folder if no commit has one. The lock file may lack the generations
    of the declarations: routes do not depend on them.

    Raises:
        ContractError: there is no such description.
        DeclarationError: the declarations are wrong.
    """
    from daicho.web.openapi.document import describe_api  # noqa: PLC0415  # Powertools: ADR 0158

    name, before = read_description(root, against)
    after = describe_api(daicho, daicho.append_generations(ledger))
    try:
        return ContractCheck(name, tuple(compare_descriptions(before, after)))
    except KeyError as error:
        raise ContractError(f"{name} refers to {error}, which it does not contain") from error


def read_description(root: Path, against: str | None = None) -> tuple[str, dict[str, Any]]:
    """The description to compare with, after its name; see `compare_with_committed`.

    Raises:
        ContractError: there is none, or it is no OpenAPI document.
    """
    if against is not None and Path(against).is_file():
        return against, _parse(against, Path(against).read_bytes())
    revision = against or HEAD
    text = _read_revision(root, revision)
    if text is not None:
        name = f"{DESCRIPTION} of {revision}"
        return name, _parse(name, text)
    if against is not None:
        raise ContractError(
            f"{against} is no file, and no git revision with {DESCRIPTION}: name one of them"
        )
    path = root / DESCRIPTION
    if not path.is_file():
        raise ContractError(
            f"{DESCRIPTION} does not exist: run `daicho openapi`, and commit the file"
        )
    return str(DESCRIPTION), _parse(str(DESCRIPTION), path.read_bytes())


def _read_revision(root: Path, revision: str) -> bytes | None:
    """The description in a git revision; None if git or the revision does not have it."""
    blob = f"{revision}:./{DESCRIPTION.as_posix()}"
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run(  # noqa: S603  # git by its path, without a shell; it only reads
        [git, "cat-file", "blob", blob], cwd=root, capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def _parse(name: str, text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("paths"), Mapping):
        raise ContractError(f"{name} is no OpenAPI document: `daicho openapi` writes one")
    return document


WIDTH = max(len(severity) for severity in Severity)


def format_changes(changes: Sequence[ContractChange], indent: str = "") -> str:
    """A line for each change, and below it the way to keep the contract."""
    return "\n".join(f"{indent}{line}" for line in _list_lines(changes))


def format_check(check: ContractCheck) -> str:
    """All changes, and one sentence on whether clients break."""
    number = sum(change.is_breaking for change in check.changes)
    if not check.changes:
        return f"The API is that of {check.against}."
    changes = "1 change breaks" if number == 1 else f"{number} changes break"
    summary = f"{changes} clients of {check.against}." if number else "No client breaks."
    return f"{format_changes(check.changes)}\n{summary}"


def render_check(check: ContractCheck) -> dict[str, Any]:
    """The check as plain JSON values."""
    return {
        "against": check.against,
        "breaking": check.is_breaking,
        "changes": [change.to_json() for change in check.changes],
    }


def _list_lines(changes: Sequence[ContractChange]) -> Iterator[str]:
    for change in changes:
        yield f"{change.severity:<{WIDTH}}  {change.sentence}"
        if change.way:
            yield f"{'':<{WIDTH}}  to keep it: {change.way}"


ERROR, BREAKING = 1, 2
"""Exit codes."""


def contract(
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|REVISION",
            help="An OpenAPI document, or a git revision.",
            show_default="the last commit",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the API of the declarations with the committed OpenAPI document.

    Exit code 2: a change breaks clients. Each change is printed with the way to keep the contract.
    """
    project = find_project()
    with end_on_errors("daicho contract", ERROR):
        check = compare_with_committed(discover_project(), load_ledger(), project.root, against)
    if as_json:
        print_json(render_check(check))
    else:
        typer.echo(format_check(check))
    if check.is_breaking:
        raise typer.Exit(BREAKING)
