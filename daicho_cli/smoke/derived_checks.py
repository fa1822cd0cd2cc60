"""Checks of derived state: searches, lists with cursors, edges, aggregates, rollups, votes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from daicho.declare.entity import Entity
from daicho.declare.parts import ConditionSpec, PartSpec
from daicho.plan.calendar import find_calendar
from daicho.plan.parts import find_range
from daicho.web.http.operation import Operation
from daicho.web.routes.declared_queries import MAX_KEYWORD_CHARACTERS
from daicho.web.routes.scores import render_part_name
from daicho_cli.smoke.calls import PAUSE_S, Checks, RefusedError, SmokeFailure
from daicho_cli.smoke.item_checks import try_each
from daicho_cli.smoke.items import Item, ItemMaker, fill_path
from daicho_cli.smoke.routes import Query

MAX_PAGES = 50
SETTLED_S, LOCAL_SETTLED_S = 5.0, 1.0
"""How long a figure must stay the same before everything written counts as derived. On AWS another
shard, or a function that starts, may be some seconds late."""


class DerivedChecks:
    """Waits for what the stream derives of a written item."""

    def __init__(self, maker: ItemMaker, checks: Checks, *, settled: float) -> None:
        """``settled``: see `SETTLED_S`."""
        self.maker, self.checks, self.settled = maker, checks, settled
        self.api, self.routes = maker.api, maker.routes

    def run(self) -> None:
        """Check every kind that the project has."""
        routes = self.routes
        for kind, name, candidates, check in (
            ("search", "row of a new item", routes.searches, self._search),
            ("listing", "row of a new item", routes.listings, self._list),
            ("list", "pages with a cursor", routes.lists, self._page),
            ("edge", "read from both ends", routes.edges, self._read_edge),
            ("aggregate", "exactly one more, at once", routes.aggregates, self._count),
            ("rollup", "total includes it", routes.aggregates, self._roll_up),
            ("series", "bucket of a new item", routes.series, self._read_series),
            ("ballot", "vote of one voter", routes.ballots, self._put_ballot),
            ("counter", "fast vote", routes.counters, self._add_vote),
        ):
            try_each(self.checks, kind, name, candidates, check)

    def _search(self, query: Query) -> str:
        item = self.maker.create(query.entity)
        texts = (item.values.get(name) for name in query.variant.searched)
        keyword = next((text for text in texts if isinstance(text, str) and text), None)
        if keyword is None:
            raise RefusedError(f"{query}: no field of the example has text")
        (parameter,) = query.variant.required
        values = {**item.values, parameter.name: keyword[:MAX_KEYWORD_CHARACTERS]}
        self._wait_for_row(query, item, values)
        return str(query)

    def _list(self, query: Query) -> str:
        item = self._create_listed(query)
        self._wait_for_row(query, item, _name_parts(query.declaration.partition, item.values))
        return str(query)

    def _page(self, query: Query) -> str:
        """Read two items of one list by pages of one item."""
        first = self._create_listed(query)
        shared = {parameter.name for parameter in query.variant.required}
        shared |= {name for name in first.key if f"{{{name}}}" in query.operation.path}
        fixed = {name: first.values[name] for name in shared if name in first.values}
        second = self.maker.create(query.entity, **fixed)
        path = fill_path(query.operation, query.variant, self._value_parameters(query, first))

        def has_both(rows: list[dict[str, Any]]) -> bool:
            return first.is_in(rows) and second.is_in(rows)

        self.api.wait_for(lambda: self._read_pages(path), has_both, f"pages of {path}")
        return str(query)

    def _value_parameters(self, query: Query, item: Item) -> Mapping[str, Any]:
        partition = getattr(query.declaration, "partition", ())
        if isinstance(partition, tuple) and partition and isinstance(partition[0], PartSpec):
            return {**item.values, **_name_parts(partition, item.values)}
        return item.values

    def _read_edge(self, query: Query) -> str:
        item = self.maker.create(query.entity)
        self._wait_for_row(query, item, item.values)
        for other in self.routes.find_queries(type(query.declaration), "all"):
            if other.entity is query.entity:
                self._wait_for_row(other, item, item.values)
                return f"{query}, {other}"
        return str(query)

    def _count(self, query: Query) -> str:
        """The figure of a group, added up now, is one more after one more item."""
        item = self._create_listed(query)
        group = _name_parts(_list_parts(query), item.values)
        path = self._render_figure(query, group)

        def read() -> int:
            return self._read_count(query, f"{path}live=true", group)

        # What this run has created before must have been derived, or it would be counted here.
        before = self.api.wait_for(read, lambda count: count > 0, f"{query}: the first item")
        before = self._settle(read, before)
        self.maker.create(query.entity, **self._repeat_group(query, item))
        after = self.api.wait_for(read, lambda count: count != before, f"{query}: one more")
        if self._settle(read, after) != before + 1:
            raise SmokeFailure(f"{query}: {before} items and one more are {read()}")
        return str(query)

    def _roll_up(self, query: Query) -> str:
        """The stored total becomes what the slots add up to."""
        item = self._create_listed(query)
        group = _name_parts(_list_parts(query), item.values)
        path = self._render_figure(query, group)
        live = self.api.wait_for(
            lambda: self._read_count(query, f"{path}live=true", group),
            lambda count: count > 0,
            f"{query}: the item",
        )
        self.api.wait_for(
            lambda: self._read_count(query, path.rstrip("?&"), group),
            lambda count: count >= live,
            f"{query}: the total",
        )
        return str(query)

    def _read_series(self, query: Query) -> str:
        """The bucket of a new item, added up now, contains it."""
        item = self._create_listed(query)
        part: PartSpec = query.declaration.series
        calendar = find_calendar(part.bucket or "day", part.zone, part.first_weekday)
        bucket = calendar.parse(calendar.render_text(str(item.values[part.field.name])))
        edges = {"from": bucket.start.isoformat(), "to": bucket.end.isoformat()}
        group = {**_name_parts(_list_parts(query), item.values), **edges}
        path = f"{self._render_figure(query, group)}live=true"
        self.api.wait_for(
            lambda: sum(int(each["count"]) for each in self.api.read(path)["buckets"]),
            lambda count: count > 0,
            f"{query}: the bucket of the item",
        )
        return str(query)

    def _put_ballot(self, candidate: tuple[type[Entity], Operation]) -> str:
        entity, operation = candidate
        self.maker.create_by(operation, entity)
        return f"{operation.method} {operation.path}"

    def _add_vote(self, candidate: tuple[type[Entity], Operation]) -> str:
        """Add to a counter: of an item for each value of its choices, until one is counted."""
        entity, operation = candidate
        for values in self._list_owners(entity, operation):
            path, body = self.maker.prepare(operation, entity, **values)
            try:
                answer = self.api.send(operation.method, path, body=body).json()
            except RefusedError:
                continue
            if "counted" in answer:
                return f"{operation.method} {operation.path}"
        raise RefusedError(f"{operation.method} {operation.path} counts no vote of the examples")

    def _list_owners(self, entity: type[Entity], operation: Operation) -> list[dict[str, Any]]:
        """Values of the path: an item that is voted on, with each choice of its fields."""
        for name in (variable.name for variable in operation.variables):
            spec = entity.fields_.get(name)
            if spec is not None and spec.role == "ref":
                choices = [
                    {field.name: value}
                    for field in spec.target.fields_.values()
                    for value in field.literals or ()
                ]
                return [{name: self._create_owner(spec.target, c)} for c in ({}, *choices)]
        return [{}]

    def _create_owner(self, target: type[Entity], choice: dict[str, Any]) -> Any:
        item = self.maker.create(target, **choice)
        return next(iter(item.key.values()))

    def _create_listed(self, query: Query) -> Item:
        item = self.maker.create(query.entity)
        where: ConditionSpec | None = getattr(query.declaration, "where", None)
        if where is not None and item.values.get(where.field.name) not in where.values:
            raise RefusedError(f"{query}: the example does not meet the condition")
        return item

    def _repeat_group(self, query: Query, item: Item) -> dict[str, Any]:
        """The values that put another item into the group of this one."""
        names = {part.field.name for part in _list_parts(query)}
        return {name: item.values[name] for name in names if name in item.values}

    def _wait_for_row(self, query: Query, item: Item, values: Mapping[str, Any]) -> None:
        path = fill_path(query.operation, query.variant, {**item.values, **values})
        self.api.wait_for(lambda: self._read_pages(path, limit=100), item.is_in, f"GET {path}")

    def _read_pages(self, path: str, limit: int = 1) -> list[dict[str, Any]]:
        """All rows of a list, in pages of ``limit``."""
        rows: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            more = {"limit": limit, **({"cursor": cursor} if cursor else {})}
            page = self.api.read(f"{path}{'&' if '?' in path else '?'}{urlencode(more)}")
            rows += page["items"]
            cursor = page["cursor"]
            if cursor is None:
                break
        return rows

    def _render_figure(self, query: Query, group: Mapping[str, Any]) -> str:
        """The path of a figure or ranking, to which ``live=true`` can be appended."""
        path = fill_path(query.operation, query.variant, group)
        return f"{path}{'&' if '?' in path else '?'}"

    def _read_count(self, query: Query, path: str, group: Mapping[str, Any]) -> int:
        answer = self.api.read(path)
        if query.mode != "top":
            return int(answer["count"])
        names = [render_part_name(part) for part in query.declaration.by]
        for row in answer["items"]:
            if all(str(row[name]) == str(group[name]) for name in names):
                return int(row["count"])
        return 0

    def _settle(self, read: Any, value: int) -> int:
        """The figure, once it has been the same for a while: the stream is then drained."""
        since = time.monotonic()
        while time.monotonic() - since < self.settled:
            time.sleep(PAUSE_S)
            current = int(read())
            if current != value:
                value, since = current, time.monotonic()
        return value


def _list_parts(query: Query) -> tuple[PartSpec, ...]:
    return (*query.declaration.within, *query.declaration.by)


def _name_parts(parts: tuple[PartSpec, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a group or partition by the names of its parts.

    Raises:
        RefusedError: a part has no value in the example.
    """
    named = {}
    for part in parts:
        value = values.get(part.field.name)
        if part.each or value is None or value == "" or isinstance(value, list | dict):
            raise RefusedError(f"the example has no {part.field.name}")
        if part.edges:
            value = find_range(part.edges, Decimal(str(value)))
        named[render_part_name(part)] = (
            find_calendar(part.bucket, part.zone, part.first_weekday).render_text(str(value))
            if part.bucket
            else value
        )
    return named
