"""Checks of language: banned words, and the length of sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from tests.docs.docstrings import list_docstring_blocks
from tests.docs.pages import Block, read_blocks

HERE = Path(__file__).parent
MAX_WORDS = 40
WORD = re.compile(r"[^\s—–]*\w[^\s—–]*")


class BannedWord(NamedTuple):
    """A pattern, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


@cache
def read_banned_words(path: Path = HERE / "banned-words.txt") -> tuple[BannedWord, ...]:
    """The committed list: a pattern and its replacement in each line, separated by ``=>``."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    pairs = [line.split("=>") for line in lines if not line.startswith("#")]
    return tuple(BannedWord(re.compile(pattern.strip()), word.strip()) for pattern, word in pairs)


@cache
def join_patterns(banned: tuple[BannedWord, ...]) -> re.Pattern[str]:
    """A pattern that matches where any of them does: most sentences need no other one."""
    texts = (each.pattern.pattern for each in banned)
    groups = ((text, "") if text[:4] != "(?i)" else (text[4:], "i") for text in texts)
    return re.compile("|".join(f"(?{flag}:{text})" for text, flag in groups))


def list_blocks(path: Path) -> tuple[Block, ...]:
    """The blocks of prose of a page, or of a module's docstrings."""
    return _parse_blocks(path, path.read_text("utf-8"))


@lru_cache(maxsize=1)
def _parse_blocks(path: Path, text: str) -> tuple[Block, ...]:
    """The blocks of the file that was read last: each check reads them."""
    is_module = path.suffix == ".py"
    return tuple(list_docstring_blocks(text) if is_module else read_blocks(text))


def find_banned_words(page: Path) -> Iterator[str]:
    """The banned words of a page or a module, one message each."""
    for block in list_blocks(page):
        is_text = block.kind not in ("heading", "docstring")
        words = read_banned_words()
        for sentence in block.sentences():
            for banned in words if join_patterns(words).search(sentence) else ():
                # "What is promised" is a good heading, and a good docstring of a value.
                if not is_text and banned.pattern.pattern.startswith("^"):
                    continue
                for match in banned.pattern.finditer(sentence):
                    yield f"{block.line}: {match[0]!r}: {banned.instead}"


def find_long_sentences(page: Path) -> Iterator[str]:
    """The sentences of more than 40 words outside tables, one message each."""
    for block in list_blocks(page):
        if block.kind == "table":
            continue
        for sentence in block.sentences():
            words = len(WORD.findall(sentence))
            if words > MAX_WORDS:
                yield f"{block.line}: {words} words: {sentence[:70]}…"
