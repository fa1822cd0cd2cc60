"""Words for the names of contacts, with their frequencies: the contents of ``names.txt``.

The common given names are followed by a long tail, composed of parts.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

Weighted = tuple[tuple[str, str, float], ...]
"""The text, its spelling in Latin letters, and its frequency."""


def _sections() -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            section += line.split()
    return sections


def _weighted(section: str) -> Weighted:
    parts = (word.split(":") for word in WORDS[section])
    return tuple((written, latin, float(weight)) for written, latin, weight in parts)


def _composed(of: str, share: float) -> Weighted:
    return tuple(
        (head + tail, latin_head + latin_tail, weight * other * share)
        for (head, latin_head, weight), (tail, latin_tail, other) in product(
            _weighted(f"{of} heads"), _weighted(f"{of} tails")
        )
    )


WORDS = _sections()
SURNAMES = _weighted("surnames")
GIVEN = _weighted("given") + _composed("given", 0.06)
PLACES, TRADES, COINED = (_weighted(section) for section in ("places", "trades", "coined"))

DESIGNATORS = {"株式会社": 70, "(株)": 8, "㈱": 6, "有限会社": 12, "合同会社": 4}
LATIN_DESIGNATORS = ("Inc.", "Ltd.", "LLC", "Co., Ltd.", "GmbH", "K.K.", "Corporation", "")

DOMAINS = {"co.jp": 50, "jp": 15, "com": 25, "ne.jp": 5, "or.jp": 5}
FREE_MAIL = ("gmail.com", "yahoo.co.jp", "icloud.com", "outlook.jp", "docomo.ne.jp", "ezweb.ne.jp")
