"""What the path of a resource or of an answer may name."""

from __future__ import annotations

import pytest

from daicho import Domain, Entity, Key, field, ref, uid
from daicho.errors import DeclarationError
from tests.support.sample_domain import Contact, Order, routes


class Note(Entity):
    id: str = uid()
    of: str = ref(Contact)
    text: str = field()

    key = Key(of, id)


def test_a_path_names_fields_of_the_key() -> None:
    domain = Domain("notes", Note)
    domain.resource("/notes/{text}", Note, "GET")
    with pytest.raises(DeclarationError, match="text is no key field of Note"):
        routes(domain)


def test_an_answer_takes_what_its_path_names() -> None:
    domain = Domain("orders", Order)
    domain.mount("/orders-of/{client}", Order.of_customer)
    with pytest.raises(DeclarationError, match=r"client is nothing that Order\.of_customer takes"):
        routes(domain)
