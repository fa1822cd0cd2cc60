"""Keywords that a user may enter to find a contact: the beginnings of its names."""

from __future__ import annotations

import random
from collections.abc import Sequence

from daicho.plan import TextRules
from daicho.search import grams
from daicho.search.normalise import compute_readings

MANY = 2_500
LONGEST = 12
RULES = (TextRules("text"), TextRules("company"), TextRules("phone"))


def others(mode: grams.Mode, sample: Sequence[Sequence[str]]) -> list[str]:
    """Random keywords of lengths that are not steps, each from one of the sampled contacts."""
    source = random.Random("keywords")  # noqa: S311 (the same in every run)
    steps = grams.STEPS if mode == "prefix" else grams.INSIDE_STEPS_WITH_DIGITS
    lengths = [length for length in range(1, LONGEST + 1) if length not in steps]
    keywords: list[str] = []
    while len(keywords) < MANY:
        contact, length = source.choice(sample), source.choice(lengths)
        value, rules = source.choice(list(zip(contact, RULES, strict=False)))
        forms = [
            form
            for text in compute_readings(value, rules)
            for form in grams.compute_forms(text, mode)
        ]
        long = [form for form in forms if len(form) >= length]
        if long:
            keywords.append(source.choice(long)[:length])
    return keywords
