"""Operations: the methods and paths that the API serves, independent of Powertools.

An operation is a method on a path. If several queries share an operation, their parameters
distinguish them: each query is a `QueryVariant`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.web.schema.model_refs import ModelRef, resolve_model

if TYPE_CHECKING:
    from daicho.book.book import Book
    from daicho.declare.entity import Entity
    from daicho.declare.results import UnreadableItem

VARIABLE = re.compile(r"{(\w+)}")
REQUIRED: Any = object()
"""The default of a parameter that every request must have."""

MAX_BODY_BYTES = 1024 * 1024
"""The limit of a body: an item has 400 KB at most, and JSON may write a character as six."""
MAX_SPLIT_BODY_BYTES = 5_500_000
"""The limit of a body that is split over items: Lambda takes 6 MB, quotes escaped again."""

ParameterPlace = Literal["path", "query", "header"]

QueryKind = Literal[
    "search",
    "list",
    "get",
    "create",
    "replace",
    "change",
    "delete",
    "total",
    "ranking",
    "series",
    "versions",
    "version",
    "restore",
    "forget",
    "section",
    "replace_section",
    "delete_section",
    "add_member",
    "remove_member",
    "custom",
]
"""What a query does with an entity, for programs that show any domain. ``total`` is one figure,
``series`` figures over a range of time, ``ranking`` a page of figures; ``custom`` is all else that
a domain's own function does."""


@dataclass(frozen=True)
class Parameter:
    """A value of a request besides its body. Pydantic validates it by ``annotation``.

    ``only``: the one value that it may have.
    """

    name: str
    annotation: Any
    description: str = ""
    place: ParameterPlace = "query"
    default: Any = None
    only: str = ""

    @property
    def key(self) -> str:
        """The key of its value in `Call.values`."""
        return self.name


@dataclass(frozen=True)
class Reply:
    """An answer. The body is text or None.

    ``page`` has the items of the body and the cursor, ``rows`` each item of a list as JSON.
    ``is_base64``: the body is bytes in Base64. ``unreadable``: items that the body leaves out.
    """

    status: int
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    page: tuple[Collection[Entity], str | None] = ((), None)
    rows: Sequence[str] = ()
    is_base64: bool = False
    unreadable: Sequence[UnreadableItem] = ()


@dataclass(frozen=True)
class Call:
    """A validated request, as an `Answerer` takes it."""

    book: Book
    values: Mapping[str, Any]
    body: BaseModel | None = None


Answerer = Callable[[Call], Reply]


@dataclass(frozen=True)
class QueryVariant:
    """One of the queries of an operation. A request selects it by giving exactly its parameters.

    ``returns`` is the model of its answer or a reference to it, None for nothing; ``summary``
    describes it in words.
    ``searched``: the fields whose text a search compares with a keyword; none of other queries.
    ``finish`` adds current values to each reply: they are not kept under an Idempotency-Key, and
    a reply that was kept has no ``page``. ``roles``: the caller needs one of them, if there are
    any. ``access``: who may read or write the items, if it is not everybody of the tenant.
    ``kind``: what it does with the items of ``entity``, the name of an entity or empty.
    ``max_items``: the number of items that a tenant may create, if it is limited.
    ``series``: the buckets of a series, for programs; None for other queries.
    """

    name: str
    summary: str
    answer: Answerer
    returns: Any = None
    required: tuple[Parameter, ...] = ()
    optional: tuple[Parameter, ...] = ()
    searched: tuple[str, ...] = ()
    finish: Callable[[Call, Reply], Reply] | None = None
    roles: tuple[str, ...] = ()
    access: tuple[str, ...] = ()
    kind: QueryKind = "custom"
    entity: str = ""
    max_items: int | None = None
    series: Mapping[str, Any] | None = None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All its query parameters."""
        return (*self.required, *self.optional)

    @cached_property
    def needed(self) -> frozenset[str]:
        """The names of the parameters that must be given."""
        return frozenset(parameter.name for parameter in self.required)

    @cached_property
    def allowed(self) -> frozenset[str]:
        """The names of the parameters that may be given."""
        return self.needed | {parameter.name for parameter in self.optional}

    def __str__(self) -> str:
        return "?" + "&".join(f"{parameter.name}={parameter.only}" for parameter in self.required)


@dataclass
class Operation:
    """A method on a path, which has ``{variables}``.

    ``status`` is the status of success, ``also`` has other statuses without an error.
    ``accepts_idempotency_key``: a request with the key of an earlier one gets its
    stored answer. ``body_model``: the model of a body or a reference to it; ``max_body_bytes``:
    its limit. ``has_etag``: answers have an ETag, although their model has no version.
    ``is_repeatable``: it takes no such key, because a repeat only continues the first request.
    ``reserved_values``: values of the path's last variable that no item may have, because
    another operation serves GET there. ``name``: the name for programs, if it is not the
    path's; ``verb``: how that name begins, if the method does not say it.
    """

    method: str
    path: str
    tag: str
    variants: list[QueryVariant]
    variables: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    body_model: type[BaseModel] | ModelRef | None = None
    status: int = 200
    also: tuple[int, ...] = ()
    accepts_idempotency_key: bool = False
    is_repeatable: bool = False
    max_body_bytes: int = MAX_BODY_BYTES
    reserved_values: frozenset[str] = frozenset()
    has_etag: bool = False
    name: str = ""
    verb: str = ""

    @property
    def shape(self) -> tuple[str, str]:
        """The method, and the path without the names of its variables."""
        return self.method, get_shape(self.path)

    @property
    def id(self) -> str:
        """The name for programs: ``list_artist_songs``, or one that is made of the whole path."""
        if self.name:
            return self.name
        words = [self.method.lower()]
        for word in self.path.strip("/").split("/"):
            variable = VARIABLE.fullmatch(word)
            words += ["by", variable[1]] if variable else [re.sub(r"\W", "_", word)]
        return "_".join(words)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The query parameters of all variants by name.

        Raises:
            DeclarationError: two variants mean different types by one name.
        """
        query_parameters: dict[str, Parameter] = {}
        owners: dict[str, QueryVariant] = {}
        for variant in self.variants:
            for parameter in variant.parameters:
                existing = query_parameters.setdefault(parameter.name, parameter)
                owner = owners.setdefault(parameter.name, variant)
                if existing.annotation != parameter.annotation:
                    raise DeclarationError(
                        f"{self.method} {self.path}: {parameter.name!r} has one type in "
                        f"{owner.name} and another in {variant.name}; "
                        f"{_name_remedy(owner, variant)}"
                    )
        return query_parameters

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of which each request needs one; none if some variant needs no role."""
        if not all(variant.roles for variant in self.variants):
            return ()
        return tuple(dict.fromkeys(role for variant in self.variants for role in variant.roles))

    @property
    def returns(self) -> tuple[Any, ...]:
        """The models of the answers of all variants, without repetition."""
        references = dict.fromkeys(variant.returns for variant in self.variants if variant.returns)
        return tuple(dict.fromkeys(map(resolve_model, references)))

    @property
    def body(self) -> type[BaseModel] | None:
        """The model of a body; None if the operation takes none."""
        model: type[BaseModel] | None = resolve_model(self.body_model)
        return model

    def add_variants(self, other: Operation, *, instead: bool) -> None:
        """Serve the queries of another operation of the same shape too.

        ``instead``: they replace own queries with the same parameters.

        Raises:
            DeclarationError: two queries have the same parameters, or are no queries.
        """
        for variant in other.variants:
            own = self._find_same_parameters(variant)
            if own and not instead:
                raise DeclarationError(
                    f"{self.method} {self.path}: nothing tells {variant.name} from {own.name}: "
                    "they take the same parameters; "
                    f"{_name_remedy(own, variant)}"
                )
            if own:
                self.variants.remove(own)
            self.variants.append(variant)
        self.headers = tuple(dict.fromkeys((*self.headers, *other.headers)))

    def _find_same_parameters(self, other: QueryVariant) -> QueryVariant | None:
        return next((own for own in self.variants if own.needed == other.needed), None)

    def with_variables(self, path: str) -> Operation:
        """The same operation with the names of the variables in ``path``, which has its shape."""
        names = dict(zip(list_variables(path), list_variables(self.path), strict=True))
        olds = {old: new for new, old in names.items()}
        return replace(
            self,
            path=path,
            variables=tuple(
                replace(variable, name=olds[variable.name]) for variable in self.variables
            ),
            variants=[
                replace(variant, answer=partial(_answer_renamed, variant.answer, names))
                for variant in self.variants
            ],
        )


def _name_remedy(one: QueryVariant, other: QueryVariant) -> str:
    """What to write if two queries cannot be served on one path."""
    mounted = other.name if other.name[:1].isupper() else "..."  # a function has its own path
    remedy = f'mount one elsewhere: domain.mount("/...", {mounted})'
    if one.searched or other.searched:
        remedy += ', or name the parameter of the search: Search(..., param="...")'
    return remedy


def _answer_renamed(answer: Answerer, names: Mapping[str, str], call: Call) -> Reply:
    """Answer a call whose values have other names; ``names`` has the old name of each new one."""
    values = {names.get(name, name): value for name, value in call.values.items()}
    return answer(replace(call, values=values))


def get_shape(path: str) -> str:
    """A path without the names of its variables."""
    return VARIABLE.sub("{}", path)


def list_variables(path: str) -> tuple[str, ...]:
    """The names of a path's variables, in order."""
    return tuple(VARIABLE.findall(path))
