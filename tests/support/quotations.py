"""The code that pages of the documentation quote: a block with the name of a file as its title."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.repository import ROOT

QUOTATION = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Quotation(NamedTuple):
    """``code`` of ``file``, as ``page`` shows it. Paths are relative to the repository."""

    page: Path
    file: str
    code: str

    @property
    def is_exact(self) -> bool:
        """Whether the file contains the code."""
        return self.code in (ROOT / self.file).read_text("utf-8")


def list_quotations(*, demonstration: bool) -> Iterator[Quotation]:
    """All quotations of the demonstration's files, or all others."""
    of_demonstration = (
        "functions/domains/",
        "examples/book_queries.py",
        "examples/clients/",
        "bench/",
    )
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for file, code in QUOTATION.findall(page.read_text("utf-8")):
            if file.startswith(of_demonstration) == demonstration:
                yield Quotation(page.relative_to(ROOT), file, code)
