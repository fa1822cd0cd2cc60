"""The steps of a how-to page, as a test runs them: edits, commands, and what these print.

A block ``diff`` is an edit of a domain file, a block ``sh`` has commands, and a block ``text`` what
the command before it prints. Figures differ by project, so they are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.repository import ROOT

PAGES = ROOT / "docs/how-to"
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>diff|sh|text)\n(?P<text>.*?)^ *```$", re.M | re.S)
FIGURE = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class Edit:
    """An edit of a file: a part of it, and what replaces that."""

    old: str
    new: str

    @classmethod
    def parse(cls, diff: str) -> Edit:
        """Read the lines of a diff."""
        lines = diff.splitlines(keepends=True)
        return cls(
            "".join(line[1:] for line in lines if line[:1] != "+"),
            "".join(line[1:] for line in lines if line[:1] != "-"),
        )

    def apply(self, text: str) -> str:
        """The text with the edit."""
        assert text.count(self.old) == 1, self.old
        return text.replace(self.old, self.new)


@dataclass
class Command:
    """A command, and the lines that it prints, as far as the page shows them."""

    line: str
    output: str | None = None

    def check(self, printed: str) -> None:
        """Check what it printed."""
        if self.output is None:
            return
        lines = {_normalise(line) for line in printed.splitlines()}
        for expected in self.output.splitlines():
            assert _normalise(expected) in lines, f"{expected}\n\n{printed}"


@dataclass(frozen=True)
class HowToPage:
    """The steps of a page. ``edits``: of each section, in the order of the page."""

    edits: tuple[tuple[Edit, ...], ...]
    commands: tuple[Command, ...]

    @classmethod
    def read(cls, name: str) -> HowToPage:
        """Read a page."""
        edits, commands = list[tuple[Edit, ...]](), list[Command]()
        for section in re.split("^## ", (PAGES / f"{name}.md").read_text("utf-8"), flags=re.M):
            found = list[Edit]()
            for block in BLOCK.finditer(section):
                lines = [
                    line.removeprefix(block["indent"]) for line in block["text"].splitlines(True)
                ]
                match block["kind"]:
                    case "diff":
                        found.append(Edit.parse("".join(lines)))
                    case "sh":
                        commands += [Command(line.strip()) for line in lines]
                    case "text":
                        commands[-1].output = "".join(lines)
            if found:
                edits.append(tuple(found))
        return cls(tuple(edits), tuple(commands))

    def run(self, run: Callable[[str], str], *, checked: bool = True) -> None:
        """Run the commands by ``run``; ``checked``: whether they print what the page shows."""
        for command in self.commands:
            printed = run(command.line)
            if checked:
                command.check(printed)


def _normalise(line: str) -> str:
    """A line without its figures and the width of its spaces."""
    return " ".join(FIGURE.sub("0", line).split())
