"""Code in the documentation with the name of a file as its title is quoted exactly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUOTATION = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
QUOTATIONS = [
    (page.relative_to(ROOT), file, code)
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for file, code in QUOTATION.findall(page.read_text("utf-8"))
]


@pytest.mark.parametrize(("page", "file", "code"), QUOTATIONS)
def test_the_quoted_file_contains_the_code(page: Path, file: str, code: str) -> None:
    assert code in (ROOT / file).read_text("utf-8"), f"{page} quotes {file} wrongly"


def test_the_reference_quotes_code() -> None:
    assert len(QUOTATIONS) > 15
