"""The texts of an image that a declared search reads, with their grams and forms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from daicho.plan import SearchPlan
from daicho.search.grams import GramSteps, IndexedForm, compute_forms
from daicho.search.variants import compute_readings
from daicho.storage import attributes
from daicho.storage.attributes import Image


@lru_cache(maxsize=256)
def get_steps(search: SearchPlan) -> GramSteps:
    """The lengths of a search's grams."""
    return GramSteps(search.mode, search.steps, search.digits, search.kana)


def compute_postings(search: SearchPlan, image: Image) -> set[IndexedForm]:
    """The grams of an image, each with the text after it and the mark before it."""
    return get_steps(search).compute_postings(_compute_readings(search, image))


def compute_field_forms(search: SearchPlan, image: Image) -> list[str]:
    """The forms of all texts that a search reads: a keyword matches if it starts one."""
    forms: dict[str, None] = {}
    for reading in _compute_readings(search, image):
        forms |= dict.fromkeys(compute_forms(reading, search.mode))
    return list(forms)


def _compute_readings(search: SearchPlan, image: Image) -> Iterator[str]:
    for name in search.fields:
        value = attributes.get_text(image, name)
        if value:
            yield from compute_readings(value, search.kind_of_field(name))
