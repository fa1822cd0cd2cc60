"""Imports point one way, and what starts fast stays light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "functions"
MODULES = {
    ".".join(path.relative_to(FUNCTIONS).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FUNCTIONS.rglob("*.py")
}
PURE = (
    *(
        "storage.keys",
        "plan",
        "storage.attributes",
        "derive.derived_items",
        "runtime.retry",
        "declare.queries",
        "declare.fields",
        "declare.aggregates",
    ),
    *(
        "declare.entity",
        "declare.compiler",
        "plan.lockfile",
        "errors",
        "query.paging",
        "runtime.settings",
        "declare.searches",
    ),
    *("search.keyword", "search.variants", "search.posting_lists", "search.pager"),
    *("search.grams", "search.normalise", "search.unicode14", "stream.batch_fold", "tally.slots"),
)
WITHOUT_PYDANTIC = (
    "storage.keys",
    "plan",
    "storage.attributes",
    "derive.derived_items",
    "stream.batch_fold",
    "tally.slots",
    "storage.table",
)
STREAM_HANDLERS = ("project", "rollup", "archive", "redrive", "audit", "jobs", "forget", "sweep")
NOT_IN_STREAM = (
    "pydantic",
    "domains",
    "daicho.declare.entity",
    "daicho.declare.domain",
    "daicho.book.book",
)
ONE_PLACE = {
    "boto3": {"daicho.storage.table", "daicho.storage.bucket", "daicho.tenants.state_machine"}
}
MOST_LINES = 400
OUTSIDE = ("infra", "daicho_cli", "local", "tests", "bench")


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports when it runs, not for types only."""
    found: list[ast.AST] = [ast.parse(path.read_text())]
    while found:
        node = found.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                found.extend(node.orelse)
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names):
                for each in names:
                    whole = f"{module}.{each.name}"
                    yield whole if whole in MODULES else module
            case _:
                found.extend(ast.iter_child_nodes(node))


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_point_inward(name: str) -> None:
    layers = ("daicho", "domains", "handlers")
    own = name.split(".", maxsplit=1)[0]
    outer = layers[layers.index(own) + 1 :]
    for each in imported(MODULES[name]):
        top = each.split(".")[0]
        assert top not in outer, f"{name} imports {each}"
        assert top not in ("infra", "daicho_cli", "local", "tests", "bench"), (
            f"{name} imports {each}"
        )


def test_domains_speak_of_nothing_but_the_library() -> None:
    allowed = {"daicho", "domains", "pydantic", *sys.stdlib_module_names}
    for name, path in MODULES.items():
        if name.startswith("domains."):
            assert {each.split(".")[0] for each in imported(path)} <= allowed


def test_the_sdk_stands_in_one_place() -> None:
    for package, homes in ONE_PLACE.items():
        using = {name for name, path in MODULES.items() if package in set(imported(path))}
        assert using <= homes


def loaded(module: str, *unwanted: str) -> list[str]:
    """Which of the unwanted packages importing a module brings along, in a fresh interpreter."""
    script = (
        f"import sys, json, {module}\n"
        f"print(json.dumps([each for each in {list(unwanted)!r} if each in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(FUNCTIONS)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


def test_the_pure_core_needs_no_sdk() -> None:
    modules = ", ".join(f"daicho.{name}" for name in PURE)
    assert loaded(modules, "boto3", "botocore", "aws_lambda_powertools") == []


def test_what_the_stream_shares_needs_no_pydantic() -> None:
    modules = ", ".join(f"daicho.{name}" for name in WITHOUT_PYDANTIC)
    assert loaded(modules, *NOT_IN_STREAM) == []


@pytest.mark.parametrize("name", STREAM_HANDLERS)
def test_stream_handlers_start_without_the_declarations(name: str) -> None:
    assert loaded(f"handlers.{name}", *NOT_IN_STREAM, "aws_lambda_powertools") == []


def test_infrastructure_reads_the_plan_only() -> None:
    for path in (ROOT / "infra").glob("*.py"):
        ours = {each for each in imported(path) if each.split(".")[0] in ("daicho", "domains")}
        assert ours <= {"daicho.plan"}, path.name


@pytest.mark.parametrize("name", ["api", *STREAM_HANDLERS])
def test_handlers_are_thin(name: str) -> None:
    lines = len((FUNCTIONS / f"handlers/{name}.py").read_text().splitlines())
    assert 15 <= lines <= 45, f"{lines} lines"


def test_no_file_is_long() -> None:
    folders = ("functions", "infra", "local", "daicho_cli", "tests", "bench", "examples")
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > MOST_LINES
    }
    assert long == {}
