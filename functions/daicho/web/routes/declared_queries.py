"""Declarations as queries: the parameters and the answer of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MethodType
from typing import Annotated, Any

from pydantic import Field

from daicho.declare.aggregates import TallyQueries
from daicho.declare.domain import Window
from daicho.declare.entity import Entity
from daicho.declare.figures.measures import Count
from daicho.declare.keys import EdgeQueries, KeyQueries
from daicho.declare.listings import Listing, ListingQueries
from daicho.declare.parts import PartSpec
from daicho.declare.queries import ItemRef, ListQuery, UniqueRef
from daicho.declare.rules.unique import UniqueQueries
from daicho.declare.searches import DEFAULT_PARAMETER, Search, SearchQueries
from daicho.errors import DeclarationError, Refusal
from daicho.web.http import responses
from daicho.web.http.operation import (
    Answerer,
    Call,
    Parameter,
    QueryKind,
    QueryVariant,
    Reply,
)
from daicho.web.http.shared_parameters import (
    PAGING,
    build_fields_parameter,
    build_owner_parameter,
    choose_owner,
)
from daicho.web.routes import key_prefix, list_options, several_values, time_window
from daicho.web.routes.scores import (
    LIVE,
    LIVE_RANKING,
    answer_ranking,
    refer_to_chart,
    render_part_name,
)
from daicho.web.routes.series import (
    RANGE,
    answer_total,
    build_step,
    describe_series,
    has_series,
    refer_to_total,
)
from daicho.web.schema import models
from daicho.web.schema.model_refs import ModelRef
from daicho.web.schema.text_forms import BUCKET_TYPES, build_range_type
from daicho.web.schema.wire_types import build_only

MAX_KEYWORD_CHARACTERS = 64

KEYWORD_DESCRIPTIONS: Mapping[str, str] = {
    "prefix": "The beginning of any word of",
    "contains": "Text anywhere in",
}
"""How the description of a search's parameter begins, by the mode of the search."""

_QUERIES = (TallyQueries, KeyQueries, ListingQueries, SearchQueries, UniqueQueries)


class DeclaredQuery:
    """A declaration as a query: its parameters in order, and the variant that it builds."""

    def __init__(
        self, queries: Any, names: tuple[str, ...] = (), window: Window | None = None
    ) -> None:
        """Read ``Song.of_artist``, ``Track.key.inverse``, ``Download.chart.top``...

        ``names`` are the names in the path and in its query. ``under`` takes them.

        Raises:
            DeclarationError: it is not a declaration that can be a query over HTTP.
        """
        owner = queries.__self__ if isinstance(queries, MethodType) else queries
        mode = queries.__name__ if isinstance(queries, MethodType) else ""
        if not isinstance(owner, _QUERIES):
            raise DeclarationError(
                f"{queries!r} is no declaration: domain.mount(path, Song.titled)"
            )
        self.owner, self.mode, self.queries = owner, mode, queries
        self.entity: type[Entity] = owner.entity
        self.names, self.window = names, window

    @property
    def identity(self) -> tuple[str, str]:
        """What distinguishes it from every other query: ``("Download.chart", "top")``."""
        return str(self.owner.declaration), self.mode

    @property
    def name(self) -> str:
        """``Download.chart.top``."""
        return ".".join(filter(None, self.identity))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the query, in order."""
        owner = self.owner
        match owner, self.mode:
            case SearchQueries(), "":
                search = owner.declaration
                described = f"{_describe_search(search)}."
                keyword = Annotated[str, Field(max_length=MAX_KEYWORD_CHARACTERS)]
                return (Parameter(_name_keyword(search), keyword, described),)
            case ListingQueries(), "":
                parts = owner.declaration.partition
                return several_values.accept(_list_parts(self.entity, parts), parts)
            case TallyQueries(), "":
                declared = owner.declaration
                return _list_parts(self.entity, (*declared.within, *declared.by))
            case TallyQueries(), "top":
                if not owner.declaration.ranked:
                    raise DeclarationError(
                        f"{owner.declaration} is not ranked: it has no top; "
                        f"add ranked=True to it, or mount {owner.declaration} without .top"
                    )
                return _list_parts(self.entity, owner.declaration.within)
            case EdgeQueries(), "inverse":
                return _list_fields(self.entity, (owner.declaration.parts[1].name,))
            case KeyQueries(), "all":
                names = models.list_key_names(self.entity)[: owner.declaration.partition]
                return _list_fields(self.entity, names)
            case KeyQueries(), "under":
                names = key_prefix.name_components(owner, self.names)
                remaining = models.list_key_names(self.entity)[len(names) :]
                parameters = _list_fields(self.entity, names)
                if key_prefix.UNDER not in self.names:
                    return parameters
                return (*parameters, key_prefix.build_parameter(remaining))
            case KeyQueries(), "":
                return _list_fields(self.entity, models.list_key_names(self.entity))
            case UniqueQueries(), "":
                unique = owner.declaration
                names = tuple(spec.name for spec in (*unique.within, *unique.fields))
                return _list_fields(self.entity, names)
        raise DeclarationError(
            f"{self.name} cannot be asked over HTTP; "
            "declare a Listing or an Aggregate and mount it, or write a function: "
            "@domain.route"
        )

    @property
    def summary(self) -> str:
        """A description of the answer, in words."""
        entity = self.entity.__name__
        names = " and ".join(parameter.name for parameter in self.parameters)
        selected = f"{entity} by {names}" if names else f"all {entity}"
        if self.mode == "under":
            return f"List {entity} under {names.replace('under', 'the beginning of a key')}"
        match self.owner, self.mode:
            case SearchQueries(), _:
                sought = _describe_search(self.owner.declaration)
                return f"Find {entity} by {sought[0].lower()}{sought[1:]}"
            case ListingQueries(), _:
                declared = self.owner.declaration
                fields = " and ".join(spec.name for spec in declared.order)
                order = f"highest {fields} first" if fields else "newest first"
                flagged = f", {declared.name}" if self.flag else ""
                return f"List {selected}{flagged}, {order}"
            case TallyQueries(), "top":
                members = " or ".join(part.field.name for part in self.owner.declaration.by)
                return f"Rank {members} by {names}" if names else f"Rank {members}"
            case TallyQueries(), _:
                verb = "Count" if isinstance(self.owner.declaration.measure, Count) else "Sum up"
                return f"{verb} {selected}"
            case KeyQueries(), "":
                return f"Show one {entity}"
            case UniqueQueries(), _ if self.shows_one:
                return f"Show the {selected}"
            case UniqueQueries(), _:
                return f"List the one {selected}, if there is one"
        return f"List {selected}"

    @property
    def shows_one(self) -> bool:
        """Whether the answer is one item, not a list: of a unique value that is in the path."""
        variables = set(self.names)
        return isinstance(self.owner, UniqueQueries) and variables.issuperset(
            parameter.name for parameter in self.parameters
        )

    @property
    def flag(self) -> str | None:
        """The parameter that selects a listing with a condition: ``?open=true``."""
        declared = self.owner.declaration
        if isinstance(declared, Listing) and declared.where is not None:
            return declared.name
        return None

    @cached_property
    def order_kind(self) -> str | None:
        """The kind of the field that orders the list; see `list_options.find_kind`."""
        return list_options.find_kind(self.owner, self.mode, self.names)

    @property
    def kind(self) -> QueryKind:
        """What the query does with the items of its entity."""
        match self.owner:
            case SearchQueries():
                return "search"
            case TallyQueries():
                declared = self.owner.declaration
                return "ranking" if self.mode else "series" if has_series(declared) else "total"
        is_get = self.shows_one if isinstance(self.owner, UniqueQueries) else self.reads_one_item
        return "get" if is_get else "list"

    @property
    def returns(self) -> ModelRef:
        """A reference to the model of the answer."""
        if isinstance(self.owner, TallyQueries):
            refer = refer_to_chart if self.mode else refer_to_total
            return refer(self.owner.declaration)
        item = models.refer_to_item(self.entity)
        return item if self.kind == "get" else models.refer_to_page(item)

    @property
    def reads_one_item(self) -> bool:
        """Whether it reads one item, which is checked as such; by its key or a unique value."""
        return isinstance(self.owner, KeyQueries | UniqueQueries) and not self.mode

    @cached_property
    def owner_parameter(self) -> str | None:
        """The parameter with the owner of all items that it reads; None without one."""
        spec, owner = self.entity.owner_field_, self.owner
        parts: tuple[PartSpec, ...] = ()
        match owner, self.mode:
            case ListingQueries(), _:
                parts = owner.declaration.partition
            case TallyQueries(), "top":
                parts = owner.declaration.within
            case TallyQueries(), _:
                parts = (*owner.declaration.within, *owner.declaration.by)
            case KeyQueries(), _:
                names = {parameter.name for parameter in self.parameters}
                return spec.name if spec is not None and spec.name in names else None
        whole = [part.field for part in parts if not (part.bucket or part.folded or part.each)]
        return spec.name if spec is not None and spec in whole else None

    def build_variant(
        self, inside: tuple[str, ...], fixed: Mapping[str, str], *, is_own: bool = False
    ) -> QueryVariant:
        """The query on a path with the variables ``inside``; the others are its parameters.

        ``fixed``: parameters with one value each, which select the query. ``is_own``: the owner is
        the caller by default.
        """
        flags = tuple(
            Parameter(name, build_only(value), f"Always {value}.", only=value)
            for name, value in fixed.items()
        )
        parameters = tuple(
            parameter for parameter in self.parameters if parameter.name not in inside
        )
        optional: tuple[Parameter, ...] = PAGING
        series = describe_series(self.owner.declaration)
        if isinstance(self.owner, TallyQueries):
            optional = (*PAGING, LIVE_RANKING) if self.mode else (LIVE,)
            if series:
                parameters, optional = (*parameters, *RANGE), (build_step(series), LIVE)
        elif self.kind == "get":
            optional = (build_fields_parameter(self.entity),)
        elif not isinstance(self.owner, SearchQueries | UniqueQueries):
            window = (time_window.build_parameter(self.window),) if self.window else ()
            optional = (*PAGING, *window, *list_options.build_parameters(self.order_kind))
        if isinstance(self.owner, ListingQueries) and self.owner.declaration.has_copies:
            optional = (*optional, build_fields_parameter(self.entity))
        if is_own and self.owner_parameter and self.owner_parameter not in inside:
            own = build_owner_parameter(self.entity, self.owner_parameter)
            parameters = tuple(each for each in parameters if each.name != own.name)
            optional = (own, *optional)
        searched: tuple[str, ...] = ()
        if isinstance(self.owner, SearchQueries):
            searched = self.owner.declaration.reads
        return QueryVariant(
            self.name,
            self.summary,
            self._choose_answer(),
            self.returns,
            (*parameters, *flags),
            optional,
            searched,
            kind=self.kind,
            entity=self.entity.__name__,
            series=series,
        )

    def _choose_answer(self) -> Answerer:
        if isinstance(self.owner, SearchQueries):
            return self._answer_search
        return self._answer_figures if isinstance(self.owner, TallyQueries) else self._answer_items

    def _answer_items(self, call: Call) -> Reply:
        """Answer with a page of items, or with one item."""
        values = self._list_values(call)
        if values and self.mode == self.parameters[-1].name == key_prefix.UNDER:
            prefix = key_prefix.split_components(values.pop())
            values = key_prefix.check_query(self.owner, [*values, *prefix])
            if len(values) == len(models.list_key_names(self.entity)):
                list_options.refuse_range(call)
        if isinstance(self.owner, ListingQueries):
            combinations = several_values.combine(
                self.parameters, values, self.owner.declaration.shards
            )
            reply = responses.show_list(
                call, *(self._limit(call, self.queries(*parts)) for parts in combinations)
            )
            return responses.explain_empty(call, self.entity, self.owner_parameter, reply)
        query: ItemRef[Any] | ListQuery[Any] = self.queries(*values)
        if isinstance(query, ItemRef):
            is_listed = isinstance(query, UniqueRef) and not self.shows_one
            return responses.list_one(call, query) if is_listed else responses.show_one(call, query)
        return responses.show_list(call, self._limit(call, query))

    def _limit(self, call: Call, query: ListQuery[Any]) -> ListQuery[Any]:
        """The part of a list that a request selects."""
        if self.window:
            query = time_window.limit_to_window(call, self.window, query)
        return list_options.limit_list(call, self.order_kind, query)

    def _answer_search(self, call: Call) -> Reply:
        """Answer with a page of items. A problem of the keyword names the query parameter."""
        try:
            return responses.show_list(call, self.queries(*self._list_values(call)))
        except Refusal as error:
            if error.field == DEFAULT_PARAMETER:
                error.field = self.parameters[0].name
            raise

    def _answer_figures(self, call: Call) -> Reply:
        """Answer with the total of one group or its series, or with a page of groups."""
        answer: Any = answer_ranking if self.mode else answer_total
        reply: Reply = answer(self.owner.declaration, self.queries(*self._list_values(call)), call)
        return reply

    def _list_values(self, call: Call) -> list[Any]:
        """The values of a request in the order of the parameters."""
        owner = self.owner_parameter
        return [
            choose_owner(call, parameter.name)
            if parameter.name == owner
            else call.values[parameter.name]
            for parameter in self.parameters
        ]


def _list_parts(entity: type[Entity], parts: tuple[PartSpec, ...]) -> tuple[Parameter, ...]:
    """A parameter has the name of its field, or of its bucket (``month``) if that is unique."""
    buckets = [part.bucket for part in parts]
    return tuple(
        Parameter(
            render_part_name(part) if buckets.count(part.bucket) == 1 else part.field.name,
            _choose_part_type(entity, part),
        )
        for part in parts
    )


def _choose_part_type(entity: type[Entity], part: PartSpec) -> Any:
    if part.bucket or part.edges:
        return BUCKET_TYPES[part.bucket] if part.bucket else build_range_type(part.edges)
    if part.each:
        return str
    return models.choose_parameter_type(entity, part.field.name)


def _list_fields(entity: type[Entity], names: tuple[str, ...]) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, models.choose_parameter_type(entity, name)) for name in names)


def _name_keyword(search: Search) -> str:
    """The query parameter of a search: the declared one, its only field, or ``q``."""
    if search.param is not None:
        return search.param
    return search.reads[0] if len(search.reads) == 1 else DEFAULT_PARAMETER


def _describe_search(search: Search) -> str:
    """The texts that a search compares with a keyword, in words."""
    return f"{KEYWORD_DESCRIPTIONS[search.mode]} {' or '.join(search.reads)}"
