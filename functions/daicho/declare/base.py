"""Declarations: named values of an entity's class body.

Inside the class a declaration takes the bare names of fields; outside, called with values, it is
a query that a `Book` answers (`daicho.declare.queries`). A declaration is data: it holds no
code.
"""

from __future__ import annotations

from daicho.declare.fields import FieldSpec
from daicho.plan import VersionMode


class Declaration:
    """A named value of an entity's class body.

    It holds all that an entity must know of its declarations, so that it needs no kind of them.

    Attributes:
        duplicate_error: the error of an entity that has two of the kind; "" if it may have two.
        version_mode: how it keeps versions of an item, if it does.
        split_field: the field whose sections it makes items of their own, if it does.
    """

    name = ""
    entity = ""
    duplicate_error = ""
    version_mode: VersionMode | None = None
    split_field: FieldSpec | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.entity = name, owner.__name__

    def __str__(self) -> str:
        return f"{self.entity}.{self.name}"

    @property
    def key_fields(self) -> tuple[FieldSpec, ...]:
        """The fields of a primary key; none of any other declaration."""
        return ()

    @property
    def searched(self) -> tuple[FieldSpec, ...]:
        """The fields whose text it searches."""
        return ()
