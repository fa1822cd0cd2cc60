"""What the signature of a domain's own function must say."""

from __future__ import annotations

import pytest

from daicho import Book, Domain, Entity, Key, uid
from daicho.errors import DeclarationError
from tests.support.sample_domain import routes


def test_a_function_with_types_from_nowhere() -> None:
    class Local(Entity):
        id: str = uid()

        key = Key(id)

    domain = Domain("local", Local)

    @domain.route("GET", "/local")
    def local(book: Book) -> Local:
        raise NotImplementedError

    with pytest.raises(DeclarationError, match="local: name 'Local' is not defined"):
        routes(domain)


def test_a_function_takes_what_its_path_names() -> None:
    domain = Domain("none")

    @domain.route("GET", "/x/{id}")
    def without(book: Book) -> str:
        raise NotImplementedError

    with pytest.raises(DeclarationError, match="without takes no 'id'"):
        routes(domain)
