"""What a declared search reads of an image."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from daicho.plan import SearchPlan
from daicho.search.grams import Posted, Steps, forms
from daicho.search.variants import readings
from daicho.storage import attributes
from daicho.storage.attributes import Image


@lru_cache(maxsize=256)
def steps_of(search: SearchPlan) -> Steps:
    """The lengths of a search's grams."""
    return Steps(search.mode, search.steps, search.digits, search.kana)


def postings_of(search: SearchPlan, image: Image) -> set[Posted]:
    """The grams of an image, each with what stands behind it and before it."""
    return steps_of(search).postings(_readings(search, image))


def forms_of(search: SearchPlan, image: Image) -> list[str]:
    """The forms of all that a search reads of an image: a keyword matches what starts one."""
    found: dict[str, None] = {}
    for reading in _readings(search, image):
        found |= dict.fromkeys(forms(reading, search.mode))
    return list(found)


def _readings(search: SearchPlan, image: Image) -> Iterator[str]:
    for name in search.fields:
        value = attributes.text(image, name)
        if value:
            yield from readings(value, search.kind(name))
