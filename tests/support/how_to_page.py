"""The steps of a page, as a test follows them: edits, files, commands, and what these print.

Each block of code says by its language, or by a comment before it, what a test does with it:

- ``diff``: an edit of a domain file. A block with a title quotes a file of the repository.
- ``sh``: commands. `NEEDS` says what each of them needs.
- ``text`` and ``json`` after a command: what it prints. Figures differ by project, so they are not
  compared.
- ``<!-- file: migrations/users.py -->``: the whole file, in a project.
- ``<!-- run: project -->``: commands, or Python, for which there is no rule; also ``stack``,
  ``account``, or ``no`` with the reason why nothing follows the block.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.support.repository import ROOT

DOCS = ROOT / "docs"
PAGES = DOCS / "how-to"
FENCE = re.compile(
    r"^(?:(?P<marked> *)<!-- (?P<mark>[a-z]+): *(?P<value>[^>]*?) *-->\n\s*?\n?)?"
    r'^(?P<indent> *)```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^ *```$',
    re.MULTILINE | re.DOTALL,
)
FIGURE = re.compile(r"\d[\d,.]*")
NEEDS = (
    ("no", r"(?!export ).*…"),  # a placeholder
    (
        "account",
        r"aws |make (bootstrap|deploy|destroy|diff|synth)\b|export AWS_PROFILE|.* --stage |"
        r"output\(\)|.*\$\((output|aws) |read -rs|.*\$(API|TARGET)\b|.*\$\w+_URL\b|STACK=|"
        r"curl -s https:|.*--table Daicho-",
    ),
    (
        "stack",
        r"make (up|down|reset)\b|curl .*\$URL/|ID=|export AWS_|"
        r"\.venv/bin/daicho (load|export|archive|restore)",
    ),
    (
        "project",
        r"make (generate|test)\b|\.venv/bin/(daicho (generation|cost|contract|openapi)|python )|"
        r"cp |rm |git (restore|show|commit) ",
    ),
    ("package", r"pip install |make dist|export UV_FIND_LINKS|daicho init |cd shop"),
)
"""What commands need, by their beginning: an account, a local stack, only a project, or a wheel."""
PRINTED = ("text", "json")
KINDS = ("project", "stack", "account", "package", "no")


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

    def undo(self, text: str) -> str:
        """The text as it was before the edit."""
        return Edit(self.new, self.old).apply(text)


@dataclass
class Command:
    """A command, what it needs, and the lines that it prints, as far as the page shows them.

    ``section``: of its page, from 0.
    """

    line: str
    need: str = ""
    section: int = 0
    output: str | None = None

    def check(self, printed: str) -> None:
        """Check what it printed."""
        if self.output is None:
            return
        lines = {_normalise(line) for line in printed.splitlines()}
        for expected in self.output.splitlines():
            assert _normalise(expected) in lines, f"{expected}\n\n{printed}"


@dataclass(frozen=True)
class Block:
    """A block of code of a page. ``mark`` and ``value``: of the comment before it."""

    section: int
    line: int
    language: str
    title: str
    mark: str
    value: str
    text: str

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands of a shell, each with its need: none if no rule names one."""
        if self.language != "sh":
            return ()
        need = self.value.partition(" ")[0] if self.mark == "run" else ""
        return tuple(
            Command(line, need or find_need(line), self.section)
            for line in split_commands(self.text)
        )

    @property
    def needs_project(self) -> bool:
        """Whether it is followed in a project, without a stack."""
        return (
            self.language == "diff"
            or self.mark == "file"
            or self.copied_to is not None
            or any(command.need == "project" for command in self.commands)
        )

    @property
    def copied_to(self) -> str | None:
        """The folder of a project to which the quoted file is copied, if it is."""
        if self.title.startswith("functions/domains/"):
            return "domains"
        return "tests" if re.fullmatch(r"examples/test_\w+_in_memory\.py", self.title) else None

    def find_faults(self, previous: Block | None) -> Iterator[str]:
        """What it lacks; ``previous``: the block before it."""
        kind, _, reason = self.value.partition(" ")
        if not self.language:
            yield "has no language"
        elif self.mark and self.mark not in ("run", "file"):
            yield f"has an unknown mark: {self.mark}"
        elif self.mark == "run" and (kind not in KINDS or bool(reason) != (kind == "no")):
            yield f"needs one of {', '.join(KINDS)} with a reason, and not: {self.value}"
        elif self.language == "sh":
            yield from (f"needs a mark: {each.line}" for each in self.commands if not each.need)
        elif not (self.mark or self.title or self.language == "diff"):
            is_printed = previous is not None and previous.commands
            if self.language not in PRINTED or not is_printed:
                yield "needs a mark"


@dataclass(frozen=True)
class HowToPage:
    """The steps of a page. ``edits``: of each section that has some, in the order of the page."""

    blocks: tuple[Block, ...]
    edits: tuple[tuple[Edit, ...], ...]
    commands: tuple[Command, ...]

    @classmethod
    def read(cls, name: str | Path) -> HowToPage:
        """Read a page: a how-to page by its name, or any other one by its path."""
        path = name if isinstance(name, Path) else PAGES / f"{name}.md"
        return cls.parse(path.read_text("utf-8"))

    @classmethod
    def parse(cls, text: str) -> HowToPage:
        """Read the text of a page."""
        blocks, edits, commands = list[Block](), list[tuple[Edit, ...]](), list[Command]()
        line = 1
        for number, section in enumerate(re.split("^(?=## )", text, flags=re.MULTILINE)):
            in_section = list(_list_blocks(section, number, line))
            line += section.count("\n")
            if found := [Edit.parse(each.text) for each in in_section if each.language == "diff"]:
                edits.append(tuple(found))
            for block in in_section:
                commands += block.commands
                if block.language == "text" and not block.mark and commands:
                    commands[-1].output = block.text
            blocks += in_section
        return cls(tuple(blocks), tuple(edits), tuple(commands))

    def run(self, run: Callable[[str], str], *, checked: bool = True) -> None:
        """Run the commands of the first section that has some by ``run``.

        ``checked``: whether they print what the page shows.
        """
        first = self.commands[0].section
        for command in (each for each in self.commands if each.section == first):
            printed = run(command.line)
            if checked:
                command.check(printed)

    def find_faults(self) -> list[str]:
        """The blocks that do not say what is done with them, by their lines."""
        previous = (None, *self.blocks)
        return [
            f"{block.line}: {fault}"
            for before, block in zip(previous, self.blocks, strict=False)
            for fault in block.find_faults(before)
        ]


def find_need(line: str) -> str:
    """What a command needs by the rules; empty if none names it."""
    return next((need for need, pattern in NEEDS if re.match(pattern, f"{line} ", re.DOTALL)), "")


def split_commands(text: str) -> Iterator[str]:
    """The commands of a block: a quotation may continue on further lines. Comments are left out."""
    command = ""
    for line in text.replace("\\\n", " ").splitlines():
        command += ("\n" if command else "") + re.sub(r"(^|\s+)# .*$", "", line)
        try:
            shlex.split(command)
        except ValueError:
            continue
        if command.strip():
            yield re.sub(r" {2,}", " ", command.strip())
        command = ""
    assert not command, command


def _list_blocks(section: str, number: int, first_line: int) -> Iterator[Block]:
    """The blocks of a section of a page, by its number and its first line."""
    for fence in FENCE.finditer(section):
        lines = fence["text"].splitlines(keepends=True)
        yield Block(
            number,
            first_line + section.count("\n", 0, fence.start("indent")),
            fence["language"],
            fence["title"] or "",
            fence["mark"] or "",
            fence["value"] or "",
            "".join(line.removeprefix(fence["indent"]) for line in lines),
        )


def _normalise(line: str) -> str:
    """A line without its figures and the width of its spaces."""
    return " ".join(FIGURE.sub("0", line).split())
