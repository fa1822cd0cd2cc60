"""The docstrings of a module, as blocks of prose with line numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from inspect import cleandoc

from tests.docs.pages import Block, read_blocks

SECTION = re.compile(r"(?:Args|Attributes|Returns|Raises|Yields):")
ENTRY = re.compile(r" {4}([\w.*, ]+): (.*)")


def list_docstring_blocks(module: str) -> Iterator[Block]:
    """The blocks of the docstrings of a module, which is given as its text, and of its parts.

    The lines are those of the file. The kind of each block is ``docstring``.
    """
    for node in ast.walk(ast.parse(module)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                for block in read_blocks(convert_to_markdown(text)):
                    line = node.lineno + block.line - 1
                    yield replace(block, kind="docstring", line=line)


def convert_to_markdown(docstring: str) -> str:
    """The docstring with as many lines, in which each entry of a section is an item of a list.

    An indented text outside the sections, such as a key table, is a block of code in Markdown too.
    """
    lines = []
    in_section = False
    for line in cleandoc(docstring).splitlines():
        if SECTION.fullmatch(line):
            in_section = True
            lines.append("")
        elif not in_section or not line.startswith(" "):
            in_section = in_section and not line
            lines.append(line)
        elif entry := ENTRY.fullmatch(line):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        else:
            lines.append(f"  {line.strip()}")
    return "\n".join(lines)
