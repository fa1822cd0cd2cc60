"""What a keyword must find among generated contacts: a plain recomputation of both searches.

It shares no code with either search, and knows only what the generator writes: Japanese legal
forms, phone numbers of Japan, full-width digits. Keywords are in normal form, of one word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from bench.search.contact_generator import Contact

COMPANY, LIMITED, PARTNERS = "株式会社", "有限会社", "合同会社"


def find_own_matches(contacts: Iterable[Contact], keyword: str) -> set[str]:
    """The ids that Daicho must find: the keyword begins a word of a value in one of its forms."""
    return {
        contact.id
        for contact in contacts
        if any(text.startswith(keyword) for text in _list_forms(contact))
    }


def find_literal_matches(contacts: Iterable[Contact], keyword: str) -> set[str]:
    """The ids that the peer must find: a value as it was typed begins with the keyword."""
    return {
        contact.id
        for contact in contacts
        if any(
            value.startswith(keyword)
            for value in (
                contact.name,
                contact.company,
                contact.phone,
                *(category.name for category in contact.categories),
            )
            if value
        )
    }


def _list_forms(contact: Contact) -> Iterator[str]:
    for text in (contact.name, *(category.name for category in contact.categories)):
        words = unicodedata.normalize("NFKC", text).lower().split()
        yield from ("".join(words[place:]) for place in range(len(words)))
    yield from _list_company_forms(contact.company)
    if contact.phone:
        digits = unicodedata.normalize("NFKC", contact.phone).replace("+81", "0")
        yield "".join(character for character in digits if character.isdigit())


def _list_company_forms(company: str) -> Iterator[str]:
    """From the legal form on, from the name on, and from a legal form behind the name on."""
    unified = unicodedata.normalize("NFKC", company).lower().replace("(株)", COMPANY)
    words = unified.split()
    yield from ("".join(words[place:]) for place in range(len(words)))
    for legal_form in (COMPANY, LIMITED, PARTNERS):
        if unified.startswith(legal_form):
            yield unified.removeprefix(legal_form)
        elif unified.endswith(legal_form):
            yield legal_form
