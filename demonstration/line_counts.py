"""The number of lines of each system's declarations, for the README's table."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_ROW = re.compile(r"^(\| .*\]\((functions/domains/\w+\.py)\)) (?:\| [\d +]+ )?\|$", re.MULTILINE)
_FILE = re.compile(r"\((functions/domains/\w+\.py)\)")


def main() -> None:
    """Write the README with the present line counts; say whether it changed."""
    before = README.read_text(encoding="utf-8")
    after = update_sizes(before)
    if after != before:
        README.write_text(after, encoding="utf-8")
    print(f"README.md {'written' if after != before else 'is up to date'}")  # noqa: T201


def update_sizes(text: str, root: Path = ROOT) -> str:
    """The page with the line counts of its domain files in the last column of their rows."""

    def update_row(match: re.Match[str]) -> str:
        sizes = [str(count_lines(root / name)) for name in _FILE.findall(match[1])]
        return f"{match[1]} | {' + '.join(sizes)} |"

    return _ROW.sub(update_row, text)


def count_lines(path: Path) -> int:
    """The number of lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    main()
