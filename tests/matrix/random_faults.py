"""Faults drawn by a seed, and the suites that find them: ``python -m tests.matrix.random_faults``.

Each changes one place of a function of the library: a comparison, a condition, a constant, or the
order of two statements. Nobody chose them, so they show what the tests find beyond the faults that
were planted on purpose. Suites are tried in the order of `fault_matrix.SUITES` until one finds the
fault. Results are kept as those of the matrix.

``--like`` draws only from functions that are the same in another checkout, so that the same seed
gives the same faults there.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from tests.matrix.fault_matrix import (
    SCHEDULES,
    TEST_SUITES,
    Results,
    find_in_suite,
    open_folder,
)
from tests.support.planting import LIBRARY, ROOT, CannotPlantError, Fault

LEFT_OUT = ("testing", "cdk", "local")
"""Packages that are no part of what runs on AWS."""
OPPOSITES: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In},
}
Edit = tuple[str, str, str]
"""The kind of a change, the code and the code instead."""


def list_functions(root: Path) -> dict[str, ast.FunctionDef]:
    """The functions and methods of the library, by their names as in `Fault.where`."""
    functions: dict[str, ast.FunctionDef] = {}
    library = root / LIBRARY
    for file in sorted((library / "daicho").rglob("*.py")):
        path = file.relative_to(library).with_suffix("")
        if path.parts[1] not in LEFT_OUT:
            for name, function in _list_named(ast.parse(file.read_text("utf-8")), ()):
                functions[f"{'.'.join(path.parts)}:{name}"] = function
    return functions


def _list_named(scope: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.ClassDef):
            yield from _list_named(node, (*names, node.name))
        elif isinstance(node, ast.FunctionDef):
            yield ".".join((*names, node.name)), node


def list_edits(function: ast.FunctionDef) -> list[Edit]:
    """The changes of a function, each of one place."""
    return [edit for node in ast.walk(function) for edit in _list_edits_of(node)]


def _list_edits_of(node: ast.AST) -> Iterator[Edit]:
    changed = copy.deepcopy(node)
    match node, changed:
        case ast.Compare(ops=[sign]), ast.Compare():
            changed.ops = [OPPOSITES[type(sign)]()]
            yield "comparison", ast.unparse(node), ast.unparse(changed)
        case ast.BoolOp(op=ast.And()), ast.BoolOp():
            changed.op = ast.Or()
            yield "condition", ast.unparse(node), ast.unparse(changed)
        case ast.BoolOp(op=ast.Or()), ast.BoolOp():
            changed.op = ast.And()
            yield "condition", ast.unparse(node), ast.unparse(changed)
        case ast.If() | ast.IfExp(), _:
            test = ast.unparse(node.test)
            yield "condition", test, f"not ({test})"
        case ast.Call(), ast.Call():
            for place, argument in enumerate(node.args):
                if isinstance(argument, ast.Constant) and type(argument.value) is int:
                    changed.args[place] = ast.Constant(argument.value + 1)
                    yield "constant", ast.unparse(node), ast.unparse(changed)
        case ast.BinOp(right=ast.Constant(value=int(number))), ast.BinOp():
            changed.right = ast.Constant(number + 1)
            yield "constant", ast.unparse(node), ast.unparse(changed)
    block = getattr(node, "body", None)
    for one, other in pairwise(block) if isinstance(block, list) else ():
        match one, other:
            case ast.Expr(value=ast.Call()), ast.Expr(value=ast.Call()) | ast.Return(
                value=ast.Call()
            ):
                yield "order", _join(one, other), _join(_do(other), one)


def _do(statement: ast.Expr | ast.Return) -> ast.stmt:
    """What a statement does, without returning."""
    return ast.Expr(statement.value or ast.Constant(None))


def _join(*statements: ast.stmt) -> str:
    return "\n".join(map(ast.unparse, statements))


def draw_faults(seed: int, count: int, like: Path | None = None) -> list[Fault]:
    """Faults of each kind in turn, in functions that are drawn.

    ``like``: a checkout in which these functions are the same.
    """
    functions = list_functions(ROOT)
    if like is not None:
        others = list_functions(like)
        functions = {
            name: function
            for name, function in functions.items()
            if name in others and ast.dump(others[name]) == ast.dump(function)
        }
    by_kind: dict[str, list[tuple[str, Edit]]] = {}
    for name, function in functions.items():
        for edit in list_edits(function):
            by_kind.setdefault(edit[0], []).append((name, edit))
    rng, faults = random.Random(seed), list[Fault]()
    kinds = sorted(by_kind)
    while len(faults) < count:
        where, (kind, right, wrong) = rng.choice(by_kind[kinds[len(faults) % len(kinds)]])
        fault = Fault(f"{kind} in {where}: {wrong}"[:160], where, [right], [wrong])
        try:
            fault.plant()
        except (CannotPlantError, SyntaxError):
            continue  # the code stands there twice
        faults.append(fault)
    return faults


def main(arguments: Sequence[str]) -> int:
    """Draw, find and print; returns the exit status: 1 if ``--at-least`` is missed."""
    parser = argparse.ArgumentParser(prog="random_faults", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--like", type=Path, help="another checkout with the same functions")
    parser.add_argument("--at-least", type=int, default=0, help="the faults that must be found")
    options = parser.parse_args(arguments)
    console, folder = Console(), open_folder()
    faults = draw_faults(options.seed, options.count, options.like)
    results, finders = Results(folder), dict[str, str]()
    for suite in (*TEST_SUITES, SCHEDULES):
        left = [fault for fault in faults if fault.name not in finders]
        find_in_suite(left, suite, folder, results, console)
        for fault in left:
            if found_by := results.findings[fault.name, suite].found_by:
                finders[fault.name] = f"{suite}: {found_by}"
    for fault in faults:
        finder = finders.get(fault.name, "found by none")
        console.print(f"{fault.name}\n    {finder}", markup=False, highlight=False)
    found = len({fault.name for fault in faults} & finders.keys())
    console.print(f"{found} of {len(faults)} faults of seed {options.seed} are found")
    return int(found < options.at_least)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
