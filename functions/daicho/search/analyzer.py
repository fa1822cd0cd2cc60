"""The texts of an image that a declared search reads, with their grams and forms."""

from __future__ import annotations

from functools import lru_cache

from daicho.plan import SearchPlan
from daicho.search.grams import GramSteps, IndexedForm, compute_forms
from daicho.search.variants import compute_readings
from daicho.storage.attributes import Image, get_text


@lru_cache(maxsize=256)
def get_steps(search: SearchPlan) -> GramSteps:
    """The lengths of a search's grams."""
    return GramSteps(search.mode, search.steps, search.digits, search.kana)


def compute_postings(search: SearchPlan, image: Image) -> set[IndexedForm]:
    """The grams of an image, each with the text after it and the mark before it."""
    return get_steps(search).compute_postings(_compute_readings(search, image))


def compute_field_forms(search: SearchPlan, image: Image) -> list[str]:
    """The forms of all texts that a search reads: a keyword matches if it starts one."""
    readings = _compute_readings(search, image)
    forms = [form for reading in readings for form in compute_forms(reading, search.mode)]
    return list(dict.fromkeys(forms))


def _compute_readings(search: SearchPlan, image: Image) -> list[str]:
    texts = [(get_text(image, name), rules) for name, rules in search.rules_by_field.items()]
    return [reading for text, rules in texts if text for reading in compute_readings(text, rules)]
