"""Real names are found by the forms that people type for them: in a deployment in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from daicho import Book, Domain, Entity, Key, Search, field, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.testing import MemoryDeployment
from tests.support.repository import ROOT

NAMES = ROOT / "tests/support/typed_names.txt"
HEADING = re.compile(r"\[(\w+)\] (.*)> ?(.*)")
POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670\u200c]"
)
HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}


class City(Entity):
    id: str = uid()
    name: str = field()

    key = Key(id)
    search = Search(name)


class Named(NamedTuple):
    """A name, and the letters of its language with those that people type for them."""

    language: str
    name: str
    letters: dict[str, str]

    def list_typed(self) -> Iterator[str]:
        """What people type: plain letters, other separators, the last word, capitals."""
        typed = self.type_letters(self.name)
        parts = [part for part in re.split("[ '’‘`´־・＝-]", typed) if part]
        yield self.name
        yield typed
        yield typed.upper()
        yield " ".join(parts)
        yield typed.replace("-", "‐").replace("'", "’")
        yield re.sub("['’‘`´־・＝-]", "", typed)
        yield parts[-1]
        yield typed[: max(2, len(typed) - 2)]

    def type_letters(self, text: str) -> str:
        small = POINTS.sub("", text.replace("İ", "i").lower())
        small = re.sub("[\u05be]", "-", small)
        if self.language == "Japanese":
            return small.translate(HIRAGANA)
        return "".join(self.letters.get(letter, letter) for letter in small)


def read_names(path: Path) -> Iterator[Named]:
    language, letters, text = "", dict[str, str](), ""
    for line in [*path.read_text("utf-8").splitlines(), "[end] > "]:
        heading = HEADING.match(line)
        if heading:
            names = filter(None, map(str.strip, text.split(";")))
            yield from (Named(language, name, letters) for name in names)
            language, text = heading[1], ""
            letters = dict(zip(heading[2].split(), heading[3].split(), strict=True))
        elif not line.startswith("#"):
            text += f" {line}"


ALL = tuple(read_names(NAMES))
LANGUAGES = sorted({each.language for each in ALL})


@pytest.fixture(scope="module")
def book() -> Book:
    """All names as items, derived by the projector."""
    ledger = Daicho(Domain("test", City)).append_generations(Ledger())
    deployment = MemoryDeployment(ledger)
    book = deployment.open_book()
    for number, each in enumerate(ALL):
        book.create(City(id=str(number), name=each.name))
    deployment.deliver()
    return book


def is_found(book: Book, typed: str, id: str) -> bool:
    cursor: str | None = None
    while True:
        page = book.page(City.search(typed), limit=100, cursor=cursor)
        if any(item.id == id for item in page.items):
            return True
        cursor = page.cursor
        if cursor is None:
            return False


def test_the_table_has_a_thousand_names_of_twelve_languages() -> None:
    assert len(ALL) >= 1_000
    assert len(LANGUAGES) >= 12
    assert min(sum(each.language == name for each in ALL) for name in LANGUAGES) > 20


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_are_found_as_people_type_them(book: Book, language: str) -> None:
    pairs = [
        (each.name, typed, is_found(book, typed, str(number)))
        for number, each in enumerate(ALL)
        if each.language == language
        for typed in dict.fromkeys(each.list_typed())
    ]
    missing = [pair for pair in pairs if not pair[2]]
    assert len(missing) <= len(pairs) // 100, missing
