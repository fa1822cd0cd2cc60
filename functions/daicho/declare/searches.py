"""The declaration of searches: the fields, the mode, and the names of other entities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daicho.declare.base import Declaration
from daicho.declare.entity import E
from daicho.declare.fields import FieldSpec
from daicho.declare.parts import cast_declared, get_spec
from daicho.declare.queries import DeclaredQueries, ListQuery
from daicho.errors import DeclarationError
from daicho.search import grams

DEFAULT_PARAMETER = "q"
"""The query parameter of a search of several fields. A problem of a keyword names it."""
RESERVED_PARAMETERS = ("limit", "cursor", "live", "fields", "include")
"""Query parameters that the library gives a meaning on every list."""
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, eq=False)
class ThroughSpec:
    """A field of the entity that another field refers to."""

    reference: FieldSpec
    target: FieldSpec


def through(references: Any, name: str) -> str:
    """The name of the item that a field refers to: ``through(categories, Category.name)``.

    Names are matched over the tenant's items of that entity, which are few: a thousand at most.
    """
    reference = get_spec(references)
    if reference.role not in ("ref", "refs"):
        raise DeclarationError(
            f"through() goes through a ref or refs, not {reference}; "
            "write through(category, Category.name)"
        )
    return cast_declared(str, ThroughSpec(reference, get_spec(name)))


class Search(Declaration):
    """A search by the beginning of any word of the fields, newest first.

    Args:
        fields: those that are searched, or ``through(categories, Category.name)``.
        mode: ``contains`` finds what has the keyword anywhere in it, at three times the writes.
        steps: the lengths of the grams; those in between come through the lower one. By
            default, text that distinguishes less has more: kana, and digits of phone numbers.
        shards: spreads the hot lists (grams of 0 and 1) where a tenant's items are written faster
            than 1,000 a second; each shard is a request more for a page of them.
        param: the query parameter of its route. By default it has the name of the only field, and
            is ``q`` where the search reads several. It is no part of the plan, so that a change of
            it needs no generation.
    """

    def __init__(
        self,
        *fields: str,
        mode: grams.Mode = "prefix",
        steps: Sequence[int] | None = None,
        shards: int = 1,
        param: str | None = None,
    ) -> None:
        arguments: tuple[Any, ...] = fields
        self.through = tuple(
            argument for argument in arguments if isinstance(argument, ThroughSpec)
        )
        self.fields = tuple(
            get_spec(argument) for argument in arguments if not isinstance(argument, ThroughSpec)
        )
        self.mode, self.shards, self.param = mode, shards, param
        self.steps, self.digits, self.kana = (
            self._default_steps() if steps is None else (tuple(steps), (), ())
        )
        if not self.fields:
            raise DeclarationError("a Search takes at least one field; write Search(name)")
        if mode not in ("prefix", "contains"):
            raise DeclarationError(
                f"a Search's mode is 'prefix' or 'contains', not {mode!r}; "
                "write one of the two, or leave mode= out"
            )
        if list(self.steps) != sorted(set(self.steps)) or self.steps[:1] != (1,) or shards < 1:
            raise DeclarationError(
                "a Search's steps rise from 1, and it has a shard or more; "
                "write steps=(1, 2, 4) and shards=1, or leave both out"
            )
        if mode == "contains" and self.steps[-1] != len(self.steps):
            raise DeclarationError(
                "the steps of a Search that contains have no gap: (1, 2, 3); "
                "write them without a gap, or leave steps= out"
            )
        if param is not None:
            _check_parameter_name(param)

    def __get__(self, instance: object, owner: type[E]) -> SearchQueries[E]:
        return SearchQueries(owner, self)

    @property
    def searched(self) -> tuple[FieldSpec, ...]:
        """Its own fields, without those that it reaches through references."""
        return self.fields

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of its fields, and of those of other entities as ``Category.name``."""
        own = tuple(spec.name for spec in self.fields)
        return (*own, *(str(through_spec.target) for through_spec in self.through))

    def _default_steps(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Lengths of grams; of those that begin with digits, and with kana, where they differ."""
        phones = any(spec.reads_as == "phone" for spec in self.fields)
        if self.mode == "prefix":
            return grams.STEPS, grams.DIGIT_STEPS if phones else (), grams.KANA_STEPS
        if phones:
            return grams.INSIDE_STEPS_WITH_DIGITS, grams.INSIDE_DIGIT_STEPS, ()
        return grams.INSIDE_STEPS, (), ()


class SearchQueries(DeclaredQueries[E, Search]):
    """The query of a search, by a keyword; the empty keyword lists everything."""

    def __call__(self, keyword: str) -> ListQuery[E]:
        """The items that match a keyword."""
        return ListQuery(self.entity, "search", self.declaration.name, (keyword,))


def _check_parameter_name(name: Any) -> None:
    if not isinstance(name, str) or not _PARAMETER_NAME.fullmatch(name):
        raise DeclarationError(
            f"a Search's param is a name such as 'q', not {name!r}; write param=\"q\""
        )
    if name in RESERVED_PARAMETERS:
        raise DeclarationError(
            f"a Search's param cannot be {name!r}, which every list takes; choose another name"
        )
