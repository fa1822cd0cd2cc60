"""Entities: their fields and declarations, the values that an item admits, and wrong classes."""

from daicho import Entity, Key, Search, field, uid
from tests.support.sample_declarations import refused


def test_misspelt_names() -> None:
    with refused("C reads undeclared 'nmae'; did you mean 'name'?"):

        class C(Entity):
            id: str = uid()
            name: str = field()
            key = Key(id)
            search = Search(nmae)  # type: ignore[name-defined]  # noqa: F821


def test_a_field_that_is_read_needs_a_right_side() -> None:
    with refused(r"C\.name is read by a declaration, so it needs a right-hand side: name: str = "):

        class C(Entity):
            id: str = uid()
            name: str
            key = Key(id)
            search = Search(name)  # noqa: F821


def test_reserved_names_missing_keys_and_types() -> None:
    with refused(r"C\.type: the name is reserved"):

        class C(Entity):
            id: str = uid()
            type: str
            key = Key(id)

    with refused("D has no key"):

        class D(Entity):
            id: str = uid()

    with refused(r"F\.name has no type"):

        class F(Entity):
            id: str = uid()
            name = field()
            key = Key(id)


def test_a_pattern_that_the_model_cannot_use_is_refused_where_it_is_declared() -> None:
    with refused(r"C\.code: pattern='\(' cannot be used: .*unclosed group.*; write a regular expr"):

        class C(Entity):
            id: str = uid()
            code: str = field(pattern="(")
            key = Key(id)

    with refused(r"D\.id: pattern='\(\?=a\)' cannot be used: .*look-ahead"):

        class D(Entity):
            id: str = uid(pattern="(?=a)")
            key = Key(id)

    with refused(r"F\.code: pattern=5 cannot be used"):

        class F(Entity):
            id: str = uid()
            code: str = field(pattern=5)
            key = Key(id)
