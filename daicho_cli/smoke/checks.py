"""Checks of one item at a time: create, repeat, get, patch, delete, sections, versions, objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from daicho.declare.entity import Entity
from daicho.declare.parts import ConditionSpec, PartSpec
from daicho.declare.searches import Search
from daicho.plan.calendar import find_calendar
from daicho.plan.parts import find_range
from daicho.web.http.operation import Operation
from daicho.web.routes.declared_queries import MAX_KEYWORD_CHARACTERS
from daicho.web.routes.scores import render_part_name
from daicho_cli.smoke.calls import PAUSE_S, Checks, Outcome, RefusedError, SmokeFailure, make_key
from daicho_cli.smoke.routes import OBJECT, Item, ItemMaker, Query, fill_path

OTHER_ETAG = '"999999999"'
SECTION = "smoke"


class ItemChecks:
    """Drives the verbs of resources; each kind is checked of the first entity that has it."""

    def __init__(self, maker: ItemMaker, checks: Checks) -> None:
        self.maker, self.checks = maker, checks
        self.api, self.routes = maker.api, maker.routes

    def run(self) -> None:
        """Check every kind that the project has."""
        self._check_creation()
        self._check_verb("PATCH", "patch", "change with If-Match", self._patch)
        self._check_verb("GET", "get", "read with its ETag", self._get)
        self._check_verb("DELETE", "delete", "remove", self._delete)
        self._check_feature("section", "split_field_", self._use_section)
        self._check_feature("versions", "versioned_", self._use_versions)
        self._check_feature("object", "object_fields_", self._use_object)

    def _check_creation(self) -> None:
        """Create an item, and send the request a second time under the same key."""
        keyed = [
            entity
            for entity in self.routes.entities
            if any(each.accepts_idempotency_key for each in self.routes.find_creations(entity))
        ]
        try_each(
            self.checks, "create", "create, and repeat under one key", keyed, self._create_twice
        )

    def _create_twice(self, entity: type[Entity]) -> str:
        (operation, *_) = (
            each for each in self.routes.find_creations(entity) if each.accepts_idempotency_key
        )
        path, body = self.maker.prepare(operation, entity)
        key = make_key()
        first, second = (
            self.api.send(operation.method, path, body=body, headers=key) for _ in range(2)
        )
        item = self.maker.read_item(operation, entity, path, first)
        self.maker.created.append(item)
        repeated = self.maker.read_item(operation, entity, path, second)
        if repeated.key != item.key or repeated.etag != item.etag:
            raise SmokeFailure(f"the repeat created {repeated.key} {repeated.etag}")
        return f"{operation.method} {operation.path}"

    def _check_verb(
        self, method: str, kind: str, name: str, use: Callable[[Item, Operation], None]
    ) -> None:
        having = [each for each in self.routes.entities if self.routes.find_item(each, method)]

        def check(entity: type[Entity]) -> str:
            operation = self.routes.find_item(entity, method)
            assert operation is not None  # noqa: S101  # the list above has no other
            use(self.maker.create(entity), operation)
            return f"{method} {operation.path}"

        try_each(self.checks, kind, name, having, check)

    def _check_feature(self, name: str, attribute: str, use: Callable[[Item], str]) -> None:
        """Check what entities have of which an ``attribute`` is true."""
        having = [each for each in self.routes.entities if getattr(each, attribute)]
        try_each(self.checks, name, name, having, lambda entity: use(self.maker.create(entity)))

    def _get(self, item: Item, operation: Operation) -> None:
        answer = self.api.send("GET", item.path)
        values = answer.json()
        shown = {name: values[name] for name in item.key if name in values}
        if not shown.items() <= item.key.items():
            raise SmokeFailure(f"{operation.id} of {item.path} shows another item: {shown}")
        etag = answer.headers.get("etag")
        if etag:
            self.api.send("GET", item.path, headers={"if-none-match": etag}, statuses=(304,))

    def _patch(self, item: Item, operation: Operation) -> None:
        path = item.path or fill_path(operation, operation.variants[0], item.values)
        body = self.maker.make_body(operation) or {}
        specs = item.entity.fields_
        change = {
            name: value
            for name, value in body.items()
            if name not in specs
            or (specs[name].role == "plain" and specs[name].transitions is None)
        }
        if item.etag:
            late = {"if-match": OTHER_ETAG, **make_key()}
            self.api.send("PATCH", path, body=change, headers=late, statuses=(412,))
        headers = {"if-match": item.etag} if item.etag else {}
        answer = self.api.send("PATCH", path, body=change, headers={**headers, **make_key()})
        shown = answer.json()
        wrong = [name for name in change if name in shown and shown[name] != change[name]]
        if wrong:
            raise SmokeFailure(f"PATCH {path} did not change {', '.join(wrong)}")

    def _delete(self, item: Item, operation: Operation) -> None:
        path = item.path or fill_path(operation, operation.variants[0], item.values)
        self.api.send("DELETE", path, statuses=(204,), headers=make_key())
        if self.routes.find_item(item.entity, "GET"):
            self.api.send("GET", path, statuses=(404,))
        self.maker.created.remove(item)

    def _use_section(self, item: Item) -> str:
        path, value = f"{item.path}/{SECTION}", {"text": "a section"}
        shown = self.routes.find_item(item.entity, "GET")
        self.api.send("PUT", path, body=value, headers=make_key())
        if self.api.read(path) != value:
            raise SmokeFailure(f"GET {path} shows another value")
        return f"PUT {shown.path if shown else path}/{SECTION}"

    def _use_versions(self, item: Item) -> str:
        operation = self.routes.find_item(item.entity, "PATCH")
        if operation is None:
            operation = self.routes.find_item(item.entity, "PUT")
        if operation is None:
            raise RefusedError(f"nothing changes a {item.entity.__name__}")
        body = self.maker.make_body(operation)
        first = item.values
        changed = _change_text(body, first)
        self.api.send(operation.method, item.path, body=changed, headers=make_key())
        shown = self.api.read(f"{item.path}/versions")["items"]
        numbers = sorted(row["version"] for row in shown)
        if len(numbers) < 2:  # the first one, and the changed one
            raise SmokeFailure(f"GET {item.path}/versions shows the versions {numbers}")
        one = self.api.read(f"{item.path}/versions/{numbers[0]}")
        if any(one.get(name) != value for name, value in first.items() if name in changed):
            raise SmokeFailure(f"version {numbers[0]} is not what was created")
        return f"GET {operation.path}/versions"

    def _use_object(self, item: Item) -> str:
        name = item.entity.object_fields_[0]
        upload = item.values[name]["upload"]
        headers = upload["headers"]
        sent = self.api.send_anonymous("PUT", upload["url"], content=OBJECT, headers=headers)
        if sent.is_error:
            raise SmokeFailure(f"the upload was answered {sent.status_code}: {sent.text[:200]}")
        received = self.api.send_anonymous("GET", self.api.read(item.path)[name]["url"])
        if received.is_error or received.content != OBJECT:
            raise SmokeFailure(f"the download was answered {received.status_code}")
        return f"{item.entity.__name__}.{name}: upload, download"


def try_each(
    checks: Checks,
    kind: str,
    name: str,
    candidates: Iterable[Any],
    check: Callable[[Any], str],
) -> None:
    """Check a kind of route of the first candidate that accepts its example.

    ``check`` returns the subject of the result: what was driven.
    """
    candidates = list(candidates)
    if not candidates:
        checks.add(kind, name, Outcome.NOT_DECLARED)
        return
    subject, refusals = [kind], []
    with checks.check(kind, name):
        for candidate in candidates:
            try:
                subject.append(check(candidate))
            except RefusedError as refusal:
                refusals.append(str(refusal))
            else:
                break
        else:
            raise SmokeFailure("; ".join(refusals))
    checks.name_last(" ".join(subject[1:]) or kind)


def _change_text(body: dict[str, Any], first: Any) -> dict[str, Any]:
    """A body with a text that differs from the first version's."""
    for name, value in body.items():
        if isinstance(value, str) and first.get(name) == value:
            return {**body, name: f"{value} 2"}
    return body


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
            ("search", "row of a new item", routes.searches, self._show),
            ("listing", "row of a new item", routes.listings, self._show),
            ("list", "pages with a cursor", routes.lists, self._page),
            ("edge", "read from both ends", routes.edges, self._read_edge),
            ("aggregate", "exactly one more, at once", routes.aggregates, self._count),
            ("rollup", "total includes it", routes.aggregates, self._roll_up),
            ("series", "bucket of a new item", routes.series, self._read_series),
            ("ballot", "vote of one voter", routes.ballots, self._put_ballot),
            ("counter", "fast vote", routes.counters, self._add_vote),
        ):
            try_each(self.checks, kind, name, candidates, check)

    def _show(self, query: Query) -> str:
        self.wait_for_item(query, self.create_listed(query))
        return str(query)

    def _page(self, query: Query) -> str:
        """Read two items of one list by pages of one item."""
        first = self.create_listed(query)
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
        item = self.create_listed(query)
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
        item = self.create_listed(query)
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
        item = self.create_listed(query)
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

    def create_listed(self, query: Query) -> Item:
        """Create an item that a query shows.

        Raises:
            RefusedError: its example does not meet the condition of the query.
            SmokeFailure: the API fails.
        """
        item = self.maker.create(query.entity)
        where: ConditionSpec | None = getattr(query.declaration, "where", None)
        if where is not None and item.values.get(where.field.name) not in where.values:
            raise RefusedError(f"{query}: the example does not meet the condition")
        return item

    def _repeat_group(self, query: Query, item: Item) -> dict[str, Any]:
        """The values that put another item into the group of this one."""
        names = {part.field.name for part in _list_parts(query)}
        return {name: item.values[name] for name in names if name in item.values}

    def wait_for_item(self, query: Query, item: Item) -> None:
        """Wait until a search or a listing shows an item.

        Raises:
            RefusedError: the example has no value to ask for.
            SmokeFailure: it does not, after the patience of the API's client.
        """
        if isinstance(query.declaration, Search):
            (parameter,) = query.variant.required
            texts = (item.values.get(name) for name in query.variant.searched)
            keyword = next((text for text in texts if isinstance(text, str) and text), None)
            if keyword is None:
                raise RefusedError(f"{query}: no field of the example has text")
            values: dict[str, Any] = {parameter.name: keyword[:MAX_KEYWORD_CHARACTERS]}
        else:
            values = _name_parts(query.declaration.partition, item.values)
        self._wait_for_row(query, item, values)

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
