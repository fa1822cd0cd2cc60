"""``Versioned``: the declaration that every version of an item is kept."""

from __future__ import annotations

from typing import Any, get_args

from daicho.declare.base import Declaration
from daicho.declare.entity import E
from daicho.declare.parts import check_value_count
from daicho.declare.queries import DeclaredQueries, ItemRef, ListQuery
from daicho.errors import DeclarationError
from daicho.plan import VersionMode


class Versioned(Declaration):
    """Every version of an item is kept, and can be read by its number.

    Args:
        mode: ``"copy"``: the current item holds everything and each version is stored
            once more, so it is searched, listed and counted like any other. ``"pointer"``: the
            current item holds its key and the number of the newest version, which holds the
            content: a large item takes half the units a write, and can be listed only by key
            and ``created_at``.

    Source: "Using sort keys for version control", Amazon DynamoDB Developer Guide.
    """

    duplicate_error = "is versioned twice"

    def __init__(self, mode: VersionMode) -> None:
        if mode not in get_args(VersionMode):
            raise DeclarationError(
                f"an item is Versioned by 'copy' or 'pointer', not {mode!r}; "
                'write Versioned("copy")'
            )
        self.version_mode = mode

    def __get__(self, instance: object, owner: type[E]) -> VersionQueries[E]:
        return VersionQueries(owner, self)


class VersionQueries(DeclaredQueries[E, Versioned]):
    """The queries of versions: called with the values of a key, all versions of one item."""

    def __call__(self, *key: Any) -> ListQuery[E]:
        """The versions of one item, newest first; those of a deleted one too."""
        self._check(key)
        return ListQuery(self.entity, "versions", self.declaration.name, key)

    def at(self, *key: Any, version: int) -> ItemRef[E]:
        """One item as it was in that version."""
        self._check(key)
        return ItemRef(self.entity, key, version)

    def _check(self, key: tuple[Any, ...]) -> None:
        declared: Any = self.entity.declarations_["key"]
        check_value_count(key, len(declared.parts), declared)
