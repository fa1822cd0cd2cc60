"""Postings of a search, as `docs/reference/table-layout.md` and ADR 0009 describe them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from daicho.plan import SearchPlan, TextKind, TextRules
from daicho.storage.attributes import Image
from daicho.testing.oracle.rows.plain_texts import DIGITS, LEGAL_FORMS, read_plainly

FORM_LENGTH = 64
Posting = tuple[str, ...]
"""A gram, the text after it, and the mark of the legal form before it if there is one."""
_SERVED = {"株式": "株", "株式会": "株", "有限": "有", "有限会": "有", "合同会": "合同"}
"""Grams at the beginning of words without a list of their own, and the list that serves them."""
_SERVED_INSIDE = ("株式", "株式会", "式会", "式会社")
_SERVING_INSIDE = ("株", "式")


def list_postings(search: SearchPlan, image: Image) -> set[Posting]:
    """The postings of an item; every item is in the list of the empty gram."""
    readings: list[str] = []
    for field in search.fields:
        kind: TextKind = "phone" if field in search.phones else "text"
        kind = "company" if field in search.companies else kind
        region = dict(zip(search.phones, search.regions, strict=False)).get(field, "")
        rules = TextRules(kind, search.fold_version, region)
        readings += read_plainly(image.get(field, {}).get("S", ""), rules)
    if search.mode == "contains":
        values = {reading.replace(" ", "") for reading in readings}
        return {("", ""), *_list_inside(search, values)}
    return {("", ""), *_list_beginning(search, _list_forms(readings))}


def _list_forms(readings: list[str]) -> set[tuple[str, str]]:
    """The texts from each word to the end, and what follows a legal form there, with its mark."""
    forms: set[tuple[str, str]] = set()
    for reading in readings:
        words = reading.split(" ")
        for number in range(len(words)):
            form = "".join(words[number:])[:FORM_LENGTH]
            forms.add((form, ""))
            for mark, legal_form in LEGAL_FORMS.items():
                if form.startswith(legal_form) and form != legal_form:
                    forms.add((form.removeprefix(legal_form), mark))
    return forms


def _list_beginning(search: SearchPlan, forms: Collection[tuple[str, str]]) -> Iterator[Posting]:
    for form, mark in forms:
        longer = [
            other_mark
            for other, other_mark in forms
            if other.startswith(form) and (other, other_mark) != (form, mark)
        ]
        if mark in longer or (longer and not mark):
            continue  # a keyword that begins this form begins the longer one too
        lengths = [
            length
            for length in _choose_lengths(search, form)
            if length <= len(form) and not _is_served(search, form, length)
        ]
        for length, following in pairwise((*lengths, FORM_LENGTH + 1)):
            rest = form[length : following - 1]
            yield (form[:length], rest, mark) if mark else (form[:length], rest)


def _choose_lengths(search: SearchPlan, form: str) -> tuple[int, ...]:
    """The lengths with a list, by the first character of a form."""
    if form[0] in DIGITS and search.digits:
        return search.digits
    if "\u30a0" <= form[0] <= "\u30ff" and search.kana:
        return search.kana
    return search.steps


def _is_served(search: SearchPlan, form: str, length: int) -> bool:
    """Whether another list serves the keywords of this length."""
    if form[:length] == "0" and search.digits[:2] == (1, 2):
        return len(form) > 1 and form[1] in DIGITS
    serving = _SERVED.get(form[:length])
    return serving is not None and len(serving) in _choose_lengths(search, form)


def _list_inside(search: SearchPlan, values: Collection[str]) -> Iterator[Posting]:
    for value in values:
        if any(value in other and value != other for other in values):
            continue
        for start in range(len(value)):
            for end in range(start + 1, len(value) + 1):
                gram = value[start:end]
                is_number = search.digits and all(character in DIGITS for character in gram)
                lengths = search.digits if is_number else search.steps
                if len(gram) > max((*search.steps, *search.digits)):
                    break
                if len(gram) not in lengths or gram in _SERVED_INSIDE:
                    continue
                has_value = len(gram) == lengths[-1] or gram in _SERVING_INSIDE
                yield gram, _cut_around(value, start) if has_value else ""


def _cut_around(value: str, start: int) -> str:
    """A value, or of a long one what a keyword with a gram at this place can contain."""
    if len(value) <= FORM_LENGTH:
        return value
    return value[max(start - FORM_LENGTH + 1, 0) : start + FORM_LENGTH]
