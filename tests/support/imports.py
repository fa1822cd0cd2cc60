"""Who imports whom: every import of a package's modules, read from their source.

Imports inside functions and imports for types only count like all others: whoever reads a module
must know what it names, wherever the import is written.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, order=True)
class Import:
    """One import of a module by another; ``line`` is the statement's, from 1."""

    importer: str
    line: int
    imported: str

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def list_modules(folder: Path, package: str = "") -> dict[str, Path]:
    """The files of every module below a folder, by name; ``package``: only those of this one."""
    modules: dict[str, Path] = {}
    for path in sorted((folder / package.replace(".", "/")).rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def read_imports(modules: Mapping[str, Path]) -> Iterator[Import]:
    """Every import in these modules: of another of them by its name, else as it is written."""
    for name, path in modules.items():
        for node in _find_imports(path):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(name, node.lineno, alias.name)
            else:
                source = resolve_source(node, name, path)
                for alias in node.names:
                    whole = f"{source}.{alias.name}"
                    yield Import(name, node.lineno, whole if whole in modules else source)


def read_imported_names(modules: Mapping[str, Path]) -> Iterator[Import]:
    """The same, with the name that each import takes from a module: ``a.b.name``."""
    for name, path in modules.items():
        for node in _find_imports(path):
            source = resolve_source(node, name, path) if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                yield Import(name, node.lineno, f"{source}.{alias.name}".removeprefix("."))


@cache
def _find_imports(path: Path) -> Sequence[ast.Import | ast.ImportFrom]:
    """The import statements of a file. Several tests read the same files."""
    tree = ast.parse(path.read_text("utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def resolve_source(node: ast.ImportFrom, module: str, path: Path) -> str:
    """The module that a ``from`` names, also of a relative import."""
    if not node.level:
        return node.module or ""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    parts = package[: len(package) - node.level + 1]
    return ".".join([*parts, *filter(None, [node.module])])


@cache
def find_entry(module: str, order: tuple[str, ...]) -> str:
    """The entry of the order that a module belongs to: the longest one that it begins with.

    Raises:
        LookupError: the order has no place for it.
    """
    entries = [entry for entry in order if f"{module}.".startswith(f"{entry}.")]
    if not entries:
        raise LookupError(f"the order of packages has no place for {module}")
    return max(entries, key=len)


def find_violations(imports: Iterable[Import], order: tuple[str, ...]) -> list[Import]:
    """The imports of a module that comes later in the order than its importer."""
    place = {entry: number for number, entry in enumerate(order)}
    return sorted(
        each
        for each in imports
        if place[find_entry(each.imported, order)] > place[find_entry(each.importer, order)]
    )


def find_cycle(imports: Iterable[Import]) -> list[str]:
    """The modules of one import cycle, each importing the next; empty if there is none."""
    graph: dict[str, set[str]] = {}
    for each in imports:
        graph.setdefault(each.importer, set()).add(each.imported)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle[::-1]
    return []
