"""The words that DynamoDB does not take as attribute names in expressions."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def load_reserved_words() -> frozenset[str]:
    """The words in capitals; DynamoDB ignores case."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
