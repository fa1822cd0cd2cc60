"""Operations: what the API serves, before anything of Powertools.

An operation is a method on a path. Where several queries share one, their parameters tell them
apart: each is a `Choice`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from daicho.errors import DeclarationError

if TYPE_CHECKING:
    from daicho.book.book import Book
    from daicho.declare.entity import Entity

VARIABLE = re.compile(r"{(\w+)}")
REQUIRED: Any = object()
"""The default of a parameter without which a request is none."""

MAX_BODY_BYTES = 1024 * 1024
"""Of a body: an item has 400 KB at most, and JSON may write a character in six."""
MAX_SPLIT_BODY_BYTES = 5_500_000
"""Of one that is split over items: Lambda is handed 6 MB, quotes escaped once more."""

ParameterPlace = Literal["path", "query", "header"]


@dataclass(frozen=True)
class Parameter:
    """What a request says besides its body. ``annotation`` is what Pydantic validates it by.

    ``only``: the one value that it may have.
    """

    name: str
    annotation: Any
    description: str = ""
    place: ParameterPlace = "query"
    default: Any = None
    only: str = ""


@dataclass(frozen=True)
class Reply:
    """An answer: the body is text that is ready, or None; ``page`` is what it lists or shows."""

    status: int
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    page: tuple[Sequence[Entity], str | None] = ((), None)


@dataclass(frozen=True)
class Call:
    """A validated request, for the function that answers it."""

    book: Book
    values: Mapping[str, Any]
    body: BaseModel | None = None


Answerer = Callable[[Call], Reply]


def _keep_reply(_call: Call, reply: Reply) -> Reply:
    return reply


@dataclass(frozen=True)
class QueryVariant:
    """One of the queries of an operation: it is meant when exactly its parameters are given.

    ``returns`` is the model of its answer, None for nothing; ``said`` is what it does, in words.
    ``finish`` adds to each reply what is of the moment: it is not kept under an Idempotency-Key,
    and a reply that was kept has no ``page``.
    """

    name: str
    summary: str
    answer: Answerer
    returns: Any = None
    required: tuple[Parameter, ...] = ()
    optional: tuple[Parameter, ...] = ()
    searches: bool = False
    finish: Callable[[Call, Reply], Reply] = _keep_reply

    @property
    def needed(self) -> frozenset[str]:
        """The names of the parameters that must be given."""
        return frozenset(each.name for each in self.required)

    @property
    def allowed(self) -> frozenset[str]:
        """The names of the parameters that may be given."""
        return self.needed | {each.name for each in self.optional}

    def __str__(self) -> str:
        return "?" + "&".join(f"{each.name}={each.only}" for each in self.required)


@dataclass
class Operation:
    """A method on a path, which has ``{variables}``.

    ``status`` is the one that success has, ``also`` others that are no error, ``errors`` those
    that this operation may answer besides 400, 403, 404, 422 and 429. ``once``: under an
    Idempotency-Key it is done once, and a repeat gives the answer. ``most_bytes``: of a body.
    ``taken``: values of the path's last variable at which another operation answers GET.
    """

    method: str
    path: str
    tag: str
    choices: list[QueryVariant]
    variables: tuple[Parameter, ...] = ()
    headers: tuple[Parameter, ...] = ()
    body: type[BaseModel] | None = None
    status: int = 200
    also: tuple[int, ...] = ()
    errors: tuple[int, ...] = ()
    role: str | None = None
    once: bool = False
    most_bytes: int = MAX_BODY_BYTES
    taken: frozenset[str] = frozenset()

    @property
    def shape(self) -> tuple[str, str]:
        """The method, and the path whatever its variables are called."""
        return self.method, get_shape(self.path)

    @property
    def id(self) -> str:
        """A name for programs: ``get_artists_by_artist_songs``."""
        words = [self.method.lower()]
        for word in self.path.strip("/").split("/"):
            variable = VARIABLE.fullmatch(word)
            words += ["by", variable[1]] if variable else [re.sub(r"\W", "_", word)]
        return "_".join(words)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The query parameters of all choices by name.

        Raises:
            DeclarationError: two choices mean different types by one name.
        """
        found: dict[str, Parameter] = {}
        for choice in self.choices:
            for each in (*choice.required, *choice.optional):
                known = found.setdefault(each.name, each)
                if known.annotation != each.annotation:
                    raise DeclarationError(
                        f"{self.method} {self.path}: {each.name!r} means one thing to "
                        f"{choice.name} and another to the queries before"
                    )
        return found

    @property
    def returns(self) -> tuple[Any, ...]:
        """The models of the answers of all choices, each once."""
        return tuple(dict.fromkeys(each.returns for each in self.choices if each.returns))

    def find_variant(self, given: frozenset[str]) -> QueryVariant | None:
        """The choice that the names of the given query parameters tell; None if they tell none."""
        fitting = [each for each in self.choices if each.needed <= given <= each.allowed]
        return max(fitting, key=lambda each: len(each.needed), default=None)

    def join(self, other: Operation, *, instead: bool) -> None:
        """Serve the queries of another operation of the same shape too.

        ``instead``: of those with the same parameters, if there are any.

        Raises:
            DeclarationError: nothing tells them apart, or they are no queries.
        """
        for choice in other.choices:
            same = next((each for each in self.choices if each.needed == choice.needed), None)
            if same and not instead:
                raise DeclarationError(
                    f"{self.method} {self.path}: nothing tells {choice.name} from {same.name}; "
                    "mount one elsewhere: domain.answer(path, ...)"
                )
            if same:
                self.choices.remove(same)
            self.choices.append(choice)
        self.headers = tuple(dict.fromkeys((*self.headers, *other.headers)))
        self.role = self.role or other.role

    def with_variables(self, path: str) -> Operation:
        """The same operation with the variables called as in ``path``, which has its shape."""
        names = dict(zip(list_variables(path), list_variables(self.path), strict=True))
        olds = {old: new for new, old in names.items()}

        def renamed(answer: Answerer) -> Answerer:
            return lambda call: answer(
                replace(call, values={names.get(n, n): value for n, value in call.values.items()})
            )

        return replace(
            self,
            path=path,
            variables=tuple(replace(each, name=olds[each.name]) for each in self.variables),
            choices=[replace(each, answer=renamed(each.answer)) for each in self.choices],
        )


def get_shape(path: str) -> str:
    """A path whatever its variables are called."""
    return VARIABLE.sub("{}", path)


def list_variables(path: str) -> tuple[str, ...]:
    """The names of a path's variables, in order."""
    return tuple(VARIABLE.findall(path))
