"""A test that replaces a constant has no effect on a module that has imported it by its name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNAFFECTED: Mapping[str, frozenset[str]] = {
    "daicho.query.collection_reader.MAX_ROWS": frozenset({"daicho.query.version_history"}),
    "daicho.redrive.redrives.MAX_CHOSEN": frozenset({"daicho.operations.routes"}),
    "daicho.stream.claims.MAX_HEARTBEATS": frozenset(
        {"daicho.archive.shard_progress", "daicho.stream.batch_fold"}
    ),
    "daicho.write.cascades.MAX_CASCADED": frozenset({"daicho.book.cascade_worker"}),
    "daicho_cli.local.programs.PROGRAMS": frozenset(
        {"daicho_cli.local.deployed", "daicho_cli.local.lifecycle"}
    ),
    "daicho_cli.smoke.calls.PAUSE_S": frozenset({"daicho_cli.smoke.checks"}),
}
"""Constants that tests replace, and modules that keep the real ones. Read those tests before you
add a module: do they still test anything?"""


def list_imports(tree: ast.AST) -> dict[str, str]:
    """What a module imports from others: the whole name of each own one."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def list_patched(tree: ast.AST, imports: Mapping[str, str]) -> Iterator[str]:
    """The whole names of what a test replaces in a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                ast.Attribute(attr="setattr" | "object"),
                [ast.Name(module), ast.Constant(str(name)), *_],
            ):
                yield f"{imports.get(module, '')}.{name}"
            case ast.Call(ast.Attribute(attr="setattr" | "patch"), [ast.Constant(str(name)), *_]):
                yield name


def test_each_module_that_keeps_a_replaced_constant_is_known() -> None:
    bound: defaultdict[str, set[str]] = defaultdict(set)
    for base in (ROOT / "functions", ROOT):
        for package in ("daicho", "daicho_cli"):
            for path in (base / package).rglob("*.py"):
                module = ".".join(path.relative_to(base).with_suffix("").parts)
                for name in list_imports(ast.parse(path.read_text("utf-8"))).values():
                    bound[name].add(module)
    patched: dict[str, frozenset[str]] = {}
    for path in (ROOT / "tests").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for name in list_patched(tree, list_imports(tree)):
            if name.rpartition(".")[2].isupper() and name in bound:
                patched[name] = frozenset(bound[name])
    assert patched == UNAFFECTED
