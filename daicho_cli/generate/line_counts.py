"""How many lines each system's declarations are, as the README's table says."""

from __future__ import annotations

import re
from pathlib import Path

from daicho_cli.project import ROOT

README = ROOT / "README.md"
_ROW = re.compile(r"^(\| .*\]\((functions/domains/\w+\.py)\)) (?:\| [\d +]+ )?\|$", re.MULTILINE)
_FILE = re.compile(r"\((functions/domains/\w+\.py)\)")


def update_sizes(text: str, root: Path = ROOT) -> str:
    """The page with the lines of its domain files in the last column of their rows."""

    def row(found: re.Match[str]) -> str:
        sizes = [str(count_lines(root / name)) for name in _FILE.findall(found[1])]
        return f"{found[1]} | {' + '.join(sizes)} |"

    return _ROW.sub(row, text)


def count_lines(path: Path) -> int:
    """How many lines a file has."""
    return len(path.read_text(encoding="utf-8").splitlines())
