"""Faults to plant in the library: changes of the syntax tree of one function each.

A fault names a function, and the expression or the statements in it that are replaced. They are
compared as syntax trees, so a fault does not depend on how the code is laid out, where in its file
it stands, or what a comment says. Where the code itself has changed, planting fails with a message.

A fault is planted in a copy of the library, or, sooner, in the functions of a running process.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, ignore_patterns
from types import CodeType, FunctionType
from typing import Any

ROOT = Path(__file__).parents[2]
LIBRARY = Path("functions")
BLOCKS = ("body", "orelse", "finalbody")


class CannotPlantError(Exception):
    """A fault that the code has grown away from: what it replaces is not there."""


@dataclass(frozen=True)
class Fault:
    """A change that breaks what a rule promises.

    Attributes:
        name: what is wrong.
        where: the function, method or module, as ``daicho.package.module:Class.method``.
        right: code of ``where``: an expression, or statements in one block. It stands there once.
            Several pieces of code are replaced by the ``wrong`` of the same position.
        wrong: the code instead. Empty for statements that are left out.
        rule: the rule that it breaks, by its number in docs/explanation/exactness-proof.md. Empty
            for a fault of searches.
        profiles: those whose schedules test this part of the rule, if they are not those of the
            whole rule.
    """

    name: str
    where: str
    right: Sequence[str]
    wrong: Sequence[str]
    rule: str = ""
    profiles: Sequence[str] = ()

    @property
    def file(self) -> str:
        """The file of the function, relative to the repository."""
        module = self.where.partition(":")[0]
        return f"{LIBRARY.as_posix()}/{module.replace('.', '/')}.py"

    def plant(self, root: Path = ROOT) -> str:
        """The text of the file with the fault in it, without comments.

        Raises:
            CannotPlantError: there is not one such function, or not one such piece of code in it.
        """
        return ast.unparse(self._plant(root)[0])

    def plant_in_process(self) -> None:
        """Replace the code of the function in this process, wherever it was imported.

        Raises:
            CannotPlantError: see `plant`; or the fault changes more than what the function does: a
                constant, an attribute of a class, or a default.
        """
        tree, scope = self._plant(ROOT)
        module_name, _, names = self.where.partition(":")
        before = self._find_scope(ast.parse((ROOT / self.file).read_text("utf-8")))
        if _describe_head(scope) != _describe_head(before):
            raise CannotPlantError(f"{self.name}: {self.where} begins differently")
        living: Any = importlib.import_module(module_name)
        code = compile(tree, str(ROOT / self.file), "exec", dont_inherit=True)
        for name in names.split("."):
            living = inspect.getattr_static(living, name, None)
            code = next(each for each in code.co_consts if _is_code_of(each, name))
            if not isinstance(living, type):
                break
        function = _unwrap(living)
        if function is None or function.__code__.co_freevars != code.co_freevars:
            raise CannotPlantError(f"{self.name}: {self.where} is no function with the same names")
        function.__code__ = code

    def _plant(self, root: Path) -> tuple[ast.Module, ast.AST]:
        """The syntax trees of the file, with the fault in it, and of what ``where`` names."""
        file = root / self.file
        if not file.exists():
            raise CannotPlantError(f"{self.name}: there is no {self.file}")
        tree = ast.parse(file.read_text("utf-8"))
        scope = self._find_scope(tree)
        for right, wrong in zip(self.right, self.wrong, strict=True):
            count = replace_code(scope, right, wrong)
            if count != 1:
                raise CannotPlantError(f"{self.name}: {self.where} has {right!r} {count} times")
        return ast.fix_missing_locations(tree), scope

    def _find_scope(self, tree: ast.Module) -> ast.AST:
        names = [name for name in self.where.partition(":")[2].split(".") if name]
        scopes: list[ast.AST] = [tree]
        for name in names:
            scopes = [
                node for scope in scopes for node in _list_definitions(scope) if node.name == name
            ]
        if len(scopes) != 1:
            raise CannotPlantError(f"{self.name}: there are {len(scopes)} of {self.where}")
        return scopes[0]


def read_faults(file: Path) -> list[Fault]:
    """The faults of a TOML file, which has a table ``[[fault]]`` for each."""
    with file.open("rb") as text:
        entries = tomllib.load(text)["fault"]
    for entry in entries:
        for name in ("right", "wrong", "profiles"):
            code = entry.get(name, ())
            entry[name] = (code,) if isinstance(code, str) else tuple(code)
    return [Fault(**entry) for entry in entries]


@contextmanager
def copy_library(fault: Fault) -> Iterator[Path]:
    """A folder with a copy of the library, and the fault planted in it.

    Raises:
        CannotPlantError: see `Fault.plant`.
    """
    text = fault.plant()
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        library = Path(folder).resolve() / LIBRARY
        copytree(ROOT / LIBRARY, library, ignore=ignore_patterns("__pycache__"))
        (library.parent / fault.file).write_text(text, encoding="utf-8")
        yield library


def run_tests(
    library: Path, arguments: Sequence[str], *, seconds: float, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run tests of this repository over a library, which pytest must have loaded from there.

    Raises:
        subprocess.TimeoutExpired: they take longer than ``seconds``.
    """
    options = ("-q", "-p", "no:cacheprovider", "-p", "tests.matrix.planted_library", "--no-header")
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *options, "--tb=no"),
            *("-o", f"pythonpath={library} .", *arguments),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{library}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_PROFILE": "found",
            "PLANTED_LIBRARY": str(library),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def _describe_head(scope: ast.AST) -> str:
    """What a definition does when its module is loaded: decorators, defaults, a class's body."""
    if isinstance(scope, ast.FunctionDef):
        return ast.dump(scope.args) + "".join(map(ast.dump, scope.decorator_list))
    return ast.dump(scope)


def _is_code_of(constant: object, name: str) -> bool:
    return isinstance(constant, CodeType) and constant.co_name == name


def _unwrap(living: Any) -> FunctionType | None:
    """The function in a method, a property or a function with a decorator, without its cache."""
    while not isinstance(living, FunctionType) or hasattr(living, "__wrapped__"):
        if hasattr(living, "cache_clear"):
            living.cache_clear()
        for name in ("__wrapped__", "__func__", "fget", "func"):
            if (inner := getattr(living, name, None)) is not None:
                living = inner
                break
        else:
            return None
    return living


def _list_definitions(scope: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """The functions and classes that are defined in a scope, and not in one of these."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node
        else:
            yield from _list_definitions(node)


def replace_code(scope: ast.AST, right: str, wrong: str) -> int:
    """Replace code in a syntax tree wherever it stands, in place; returns how often.

    An expression is replaced by an expression. Otherwise both are statements of one block.
    """
    old, new = ast.parse(right).body, ast.parse(wrong).body
    if _is_expression(old) and _is_expression(new):
        replacement = _ExpressionReplacement(old[0].value, new[0].value)  # type: ignore[attr-defined]
        replacement.visit(scope)
        return replacement.count
    return sum(
        _replace_statements(block, old, new)
        for node in list(ast.walk(scope))
        for name in BLOCKS
        if isinstance(block := getattr(node, name, None), list)
    )


def _is_expression(statements: Sequence[ast.stmt]) -> bool:
    return len(statements) == 1 and isinstance(statements[0], ast.Expr)


class _ExpressionReplacement(ast.NodeTransformer):
    """Replaces each expression that equals another one."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old, self._new = ast.dump(old), new
        self.count = 0

    def visit(self, node: ast.AST) -> ast.AST:
        """The replacement, or the node with its replaced parts."""
        if isinstance(node, ast.expr) and ast.dump(node) == self._old:
            self.count += 1
            return copy.deepcopy(self._new)
        visited: ast.AST = self.generic_visit(node)
        return visited


def _replace_statements(block: list[ast.stmt], old: list[ast.stmt], new: list[ast.stmt]) -> int:
    """Replace the statements wherever they follow each other in a block."""
    wanted, count = [ast.dump(each) for each in old], 0
    for begin in range(len(block) - len(old), -1, -1):
        end = begin + len(old)
        if [ast.dump(each) for each in block[begin:end]] == wanted:
            block[begin:end] = copy.deepcopy(new)
            count += 1
    return count
