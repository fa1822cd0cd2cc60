"""Checks of Markdown that a code host shows as meant, and the site does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import parse_page

INDENT = 4


def find_unrendered_lists(page: Path) -> Iterator[str]:
    """The lists that the site shows as text: one message each.

    Python-Markdown begins a list only after an empty line, and what belongs to a list item is
    indented by four spaces for each level.
    """
    lines = page.read_text("utf-8").splitlines()
    depth = 0
    for token in parse_page(page):
        if token.type == "list_item_open":
            depth += 1
        elif token.type == "list_item_close":
            depth -= 1
        elif token.type in ("bullet_list_open", "ordered_list_open", "fence") and token.map:
            first = token.map[0]
            line = lines[first]
            before = lines[first - 1].strip() if first else ""
            is_list = token.type != "fence"
            if is_list and not depth and before and not before.startswith(("#", "<", "|", ">")):
                yield f"{first + 1}: a list needs an empty line before it"
            if depth and len(line) - len(line.lstrip()) < INDENT * depth:
                yield f"{first + 1}: indent what is inside a list item by {INDENT * depth} spaces"
