"""The line counts in the README's table of domains."""

from __future__ import annotations

from pathlib import Path

from demonstration.line_counts import update_sizes
from tests.support.repository import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def test_the_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    assert update_sizes(README) == README  # else: make docs
    (tmp_path / "functions/domains").mkdir(parents=True)
    for name, lines in (("a", 3), ("b", 5)):
        (tmp_path / f"functions/domains/{name}.py").write_text("x\n" * lines)
    a, b = (f"[`{name}`](functions/domains/{name}.py)" for name in "ab")
    old = f"| one | shows | {a} |\n| two | shows | {a}, {b} | 7 |\n| three | [x](y.md) | z |\n"
    new = f"| one | shows | {a} | 3 |\n| two | shows | {a}, {b} | 3 + 5 |\n"
    assert update_sizes(old, tmp_path) == new + "| three | [x](y.md) | z |\n"
