"""The table of access patterns, from the declarations and the source code of routes."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from daicho.declare.entity import EntityMeta
from daicho.declare.registry import Daicho
from daicho.layout.tenant_items import build_closed_mark_key, build_job_key, build_usage_key
from daicho.plan import (
    AggregatePlan,
    CounterPlan,
    EntityPlan,
    Ledger,
    ListingPlan,
    Part,
    SearchPlan,
)
from daicho.plan.figures.series import get_chunk_name
from daicho.storage.attributes import ItemKey
from daicho.web.routes.builder import build_operations
from daicho.web.routes.tenant.operations import build_admin_operations
from daicho_cli.generate.openapi import Check, write_or_check
from daicho_cli.project import find_root

QUERY_MODES = ("all", "inverse", "top", "under")


def list_queries(function: Callable[..., Any]) -> list[str]:
    """The declarations that a function names, itself or through functions of its package.

    Examples: ``Artist.named``, ``Track.key.all``. A new item of an entity is ``Song.write``, and
    the methods of a Book that take a key are ``Song.change`` and ``Song.delete``.
    """
    queries: dict[str, None] = {}
    seen: set[object] = set()
    _collect(function, queries, seen)
    return list(queries)


def _collect(function: Callable[..., Any], queries: dict[str, None], seen: set[object]) -> None:
    if function in seen:
        return
    seen.add(function)
    scope = vars(inspect.getmodule(function))
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list = []  # type: ignore[attr-defined]
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assigned = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        for name in _list_named(node, scope, called, assigned):
            queries.setdefault(name)
        if isinstance(node, ast.Name) and inspect.isfunction(scope.get(node.id)):
            other = scope[node.id]
            if _get_package(other) == _get_package(function):
                _collect(other, queries, seen)


def _list_named(
    node: ast.AST, scope: dict[str, Any], called: set[int], assigned: Mapping[str, ast.expr]
) -> Iterator[str]:
    match node:
        case ast.Attribute(ast.Attribute(ast.Name(entity), name), mode) if mode in QUERY_MODES:
            if _declares(scope.get(entity), name):
                yield f"{entity}.{name}.{mode}"
        case ast.Attribute(ast.Name(entity), name) if id(node) in called:
            if _declares(scope.get(entity), name):
                yield f"{entity}.{name}"
        case ast.Call(ast.Name(entity)) if isinstance(scope.get(entity), EntityMeta):
            yield f"{entity}.write"
        case ast.Call(ast.Attribute(attr="change" | "delete" as method), [key, *_]):
            match assigned.get(key.id) if isinstance(key, ast.Name) else key:
                case ast.Call(ast.Attribute(ast.Name(entity), "key")) if _declares(
                    scope.get(entity), "key"
                ):
                    yield f"{entity}.{method}"


def _get_package(function: Callable[..., Any]) -> str:
    return function.__module__.rpartition(".")[0]


def _declares(entity: Any, name: str) -> bool:
    return isinstance(entity, EntityMeta) and name in entity.declarations_


FILE = find_root() / "docs/reference/access-patterns.md"
HEAD = """# Access patterns

This page lists every route with its key in the table (PK, SK) or in an index (such as GSI2PK),
its reads and its writes. `make docs` generates it from
[`functions/domains`](../../functions/domains). Do not edit it.

- `{x}` is the escaped value of the field x, and `t` is the tenant of the token. Components of a key
  are joined by `#`.
- Read units are for items of up to 4 KB: 1 for a strongly consistent read, ½ for an eventually
  consistent one. A page has 100 items.
- Lists in the table are strongly consistent.
- A list with an order takes `from`, `to`, `prefix` and `order`. They are conditions of the same
  key, so the reads are the same ones.
- A write is conditional, and two are one transaction. A unit for 4 KB is for 4 KB of a page.
- GSI2 returns keys, newest or highest first, 2 units a page. The items are then fetched, and an
  item that no longer matches is left out. Neither happens if the rows copy all fields that
  `?fields=` requests.
"""
COLUMNS = ("route", "question", "key", "reads, writes")

Row = tuple[str, ...]

ADMIN_READS: Mapping[str, tuple[ItemKey, str]] = {
    "Tenant.DELETE": (
        build_closed_mark_key("t"),
        "1, two writes; again: 2",
    ),
    "Job.GET": (build_job_key("t", "{id}"), "1"),
    "Job.list": (build_job_key("t", "{id}"), "1"),
    "Limits.GET": (build_usage_key("t", "{day}"), "1"),
    "Archive.list": (build_closed_mark_key("t"), "1, and at most 16 objects of the archive"),
    "Archive.restore": (build_job_key("t", "{id}"), "1, a write"),
}
"""The reads of a tenant administrator's routes: their items belong to no domain."""


def docs(
    check: Check = False,
    path: Annotated[
        Path,
        typer.Option(help="The file to write.", show_default="docs/reference/access-patterns.md"),
    ] = FILE,
) -> None:
    """Write the table of access patterns."""
    write_or_check(path, render_access_patterns, check=check, make="make docs")


def render_access_patterns(daicho: Daicho, ledger: Ledger) -> str:
    """The page as Markdown."""
    functions = {
        f"{domain.name}.{route.function.__name__}": route.function
        for domain in daicho.domains
        for route in domain.routes
    }
    sections: dict[str, list[Row]] = {domain.name: [] for domain in daicho.domains}
    for operation in build_operations(daicho):
        for variant in operation.variants:
            needed = sorted(variant.required, key=lambda parameter: parameter.name)
            query = "&".join(f"{parameter.name}={parameter.only}" for parameter in needed)
            route = f"`{operation.method} {operation.path}{'?' + query if query else ''}`"
            function = functions.get(variant.name)
            if function is None:
                row: Row = (f"`{variant.name}`", *_describe_entity(variant.name, daicho, ledger))
            else:
                row = _find_row(function, daicho, ledger)
            sections.setdefault(operation.tag, []).append((route, *row))
    for operation in build_admin_operations(daicho):
        for variant in operation.variants:
            route = f"`{operation.method} {operation.path}`"
            role = f" (role `{variant.roles[0]}`)" if variant.roles else ""
            question = f"{variant.summary}{role}: `{variant.name}`"
            key, reads = ADMIN_READS[variant.name]
            row = (route, question, f"PK `{key.pk}`, SK `{key.sk}`", reads)
            sections.setdefault(operation.tag, []).append(row)
    pages = [HEAD]
    for name, rows in sections.items():
        pages.append(f"## {name.capitalize()}\n\n" + "\n".join(_render_table(rows)) + "\n")
    return "\n".join(pages)


def _find_row(function: Callable[..., Any], daicho: Daicho, ledger: Ledger) -> tuple[str, ...]:
    """The row of a domain's function: its purpose, and each declaration that it queries."""
    summary = (inspect.getdoc(function) or "").split("\n")[0].rstrip(".")
    names = list_queries(function)
    described = [_describe_entity(name, daicho, ledger) for name in names]
    places, reads = zip(*described, strict=True)
    places = places if len(set(places)) > 1 else places[:1]
    declarations = ", ".join(f"`{name}`" for name in names)
    question = ": ".join(filter(None, [summary, declarations]))
    return question, "<br>".join(places), "<br>".join(reads)


def _describe_entity(name: str, daicho: Daicho, ledger: Ledger) -> tuple[str, str]:
    entity, _, rest = name.partition(".")
    specs = daicho.get_entity(entity).fields_.values()
    copies = {str(spec.target) for spec in specs if spec.role == "copied"}
    checked = sum(spec.must_exist for spec in specs)
    has_objects = any(spec.role == "object" for spec in specs)
    is_limited = any(
        resource.max_items is not None and resource.entity.__name__ == entity
        for domain in daicho.domains
        for resource in domain.resources
    )
    plan = ledger.current_generation(entity).plan
    return _EntityRow(plan, len(copies), checked, has_objects, is_limited).describe(rest)


def _join_methods(rows: list[Row]) -> Iterator[Row]:
    """The rows, with one for all plain reads and writes of the items of a path."""
    joined: dict[tuple[str, str], dict[str, str]] = {}
    for route, question, key, reads in rows:
        method, _, path = route.strip("`").partition(" ")
        if question.endswith(f".{method}`") and " " not in question:
            joined.setdefault((path, key), {})[method] = reads
    for route, question, key, reads in rows:
        method, _, path = route.strip("`").partition(" ")
        reads_of_methods = joined.get((path, key), {})
        if method not in reads_of_methods or len(reads_of_methods) == 1:
            yield route, question, key, reads
        elif method == min(reads_of_methods):
            texts = (f"{name}: {text}" for name, text in reads_of_methods.items())
            yield f"`{path}`", question.replace(f".{method}", ""), key, "; ".join(texts)


def _render_table(rows: list[Row]) -> Iterator[str]:
    for cells in (COLUMNS, ("---",) * len(COLUMNS), *_join_methods(rows)):
        yield f"| {' | '.join(cells)} |"


READS_OF_DOCUMENTS = {
    "GET": "2, and 1 for 4 KB of sections",
    "POST": "1, four writes and one a piece",
    "PUT": "1, four writes and one a piece, those of the replaced document too",
    "DELETE": "1, and 1 for 4 KB of sections, three writes and one a piece",
    "sections.GET": "2",
    "sections.PUT": "3, two writes and those of its pieces",
    "sections.DELETE": "2, two writes and those of its pieces",
}
"""Of an entity with a split field, by the verb; a section has one piece or more."""
READS_OF_MEMBERS = {"PUT": "3, a write", "DELETE": "2, a write"}
"""Of a member of `refs`, by the verb: a new one is read."""


@dataclass(frozen=True)
class _EntityRow:
    plan: EntityPlan
    copies: int
    checked: int
    has_objects: bool
    is_limited: bool

    def describe(self, rest: str) -> tuple[str, str]:
        """Key and reads; ``rest`` is a verb, or a declaration and its query mode."""
        name, _, mode = rest.partition(".")
        if name == "key" and mode in ("all", "inverse", "under"):
            return self._describe_key(mode)
        if self.plan.versions and name == "versions":
            return self._describe_versions(mode)
        if self.plan.versions == "pointer" and name == "GET":
            return f"{self._render_history()}, the last", "1"
        plan, is_top = self.plan, mode == "top"
        declared: tuple[Any, ...] = (
            *plan.searches,
            *plan.listings,
            *plan.aggregates,
            *plan.counters,
        )
        match next((declaration for declaration in declared if declaration.name == name), None):
            case SearchPlan() as search:
                return self._describe_search(search)
            case ListingPlan() as listing:
                return self._describe_listing(listing)
            case AggregatePlan() as tally:
                return self._describe_ranking(tally) if is_top else self._describe_total(tally)
            case CounterPlan() as counter:
                return (
                    self._describe_counter_ranking(counter)
                    if is_top
                    else self._describe_counter(counter)
                )
        key = f"PK `{self._render_partition()}`, SK `{self._render_sort()}`"
        verb = f"{name}.{mode}" if name == "sections" else name
        if self.plan.split and verb in READS_OF_DOCUMENTS:
            return key, READS_OF_DOCUMENTS[verb]
        if name in self.plan.fields and mode in READS_OF_MEMBERS:
            return key, READS_OF_MEMBERS[mode]
        return key, self._describe_reads(name)

    def _describe_key(self, mode: str) -> tuple[str, str]:
        """The items of a partition, all or those under a prefix; or edges from the other end."""
        key, page = self.plan.key, "1 for 4 KB"
        if mode == "inverse":
            far = "#".join(f"{{{field}}}" for field in key.sort)
            return f"GSI1PK `t#{self.plan.name}#{far}`", "½ for 4 KB"
        partition = f"PK `{self._render_partition()}`"
        if mode == "under":
            sort = f"SK begins with whole components of `{self._render_sort()}`"
            return f"{partition}, {sort}", page
        if key.shards is None:
            return partition, page
        number = "its" if isinstance(key.shards, str) else key.shards
        return f"{partition}, merged over {number} shards", f"{page}, 1 a shard at least"

    def _render_partition(self) -> str:
        key = self.plan.key
        parts = [f"{{{field}}}" for field in key.partition]
        shard = [] if key.shards is None else ["{shard}"]
        return "#".join(["t", self.plan.name, *parts, *shard])

    def _render_sort(self) -> str:
        return "#".join(f"{{{field}}}" for field in self.plan.key.sort) or "-"

    def _describe_versions(self, mode: str) -> tuple[str, str]:
        match mode:
            case "at":
                return f"{self._render_history()}, SK `{{version}}`", "1"
            case "restore":
                reads = f"1, and {self._describe_reads('PATCH')}"
                return f"{self._render_history()}, SK `{{version}}`", reads
            case "forget":
                reads = "1, and 1 for 4 KB that is removed, a write a version"
                return f"{self._render_history()}, from the first", reads
            case _:
                return f"{self._render_history()}, backward", "1 for 4 KB"

    def _render_history(self) -> str:
        head = self._render_partition().replace("#", "#@", 1)
        return f"PK `{head}#{self._render_sort()}`"

    def _describe_search(self, search: SearchPlan) -> tuple[str, str]:
        shards = f", of 0 or 1 also its shard of {search.shards}" if search.shards > 1 else ""
        names = "".join(
            f"; names of PK `t#{link.entity}`, members in `{link.listing}`"
            for link in search.through
        )
        name_reads = ", 1 for 4 KB of names" if names else ""
        return (
            f"GSI2PK `{self._render_head(search)}#{{gram}}`{shards}{names}",
            f"2, ½ an item{name_reads}",
        )

    def _describe_listing(self, listing: ListingPlan) -> tuple[str, str]:
        where = listing.where
        only = f" where {where.field} is {' or '.join(where.one_of)}" if where else ""
        order = " and ".join(listing.order).replace("_", " ")
        spread = listing.shards > 1
        return (
            f"GSI2PK `{self._render_parts(self._render_head(listing), listing.partition)}"
            f"{'#{shard}' if spread else ''}`{only}, by {order} descending"
            f"{f', merged over {listing.shards} shards' if spread else ''}",
            f"2, ½ an item{_render_copies(listing)}",
        )

    def _describe_ranking(self, aggregate: AggregatePlan) -> tuple[str, str]:
        partition = self._render_parts(self._render_head(aggregate), aggregate.within)
        shards, spread = aggregate.shards, ""
        if shards > 1:
            partition, spread = f"{partition}#{{shard}}", f", merged over {shards} shards"
        reads = f"{2 * shards} a page; live: 3 a member"
        return f"GSI3PK `{partition}`{spread}, by total descending", reads

    def _describe_total(self, aggregate: AggregatePlan) -> tuple[str, str]:
        head = self._render_head(aggregate).replace("#", "#+", 1)
        partition = self._render_parts(head, (*aggregate.within, *aggregate.by))
        rank = "; a rank counts in GSI3: 1 for 50 before it" if aggregate.ranked else ""
        ends = sum(each.has_min + each.has_max for each in aggregate.measured_fields)
        values = f"; ½ more for {'each of ' if ends > 1 else 'the '}min and max" if ends else ""
        if aggregate.series is None:
            return f"PK `{partition}`, SK `total`", f"½; live: 3{values}{rank}"
        unit = get_chunk_name(aggregate.series)
        values += ", for each bucket with items" if ends else ""
        each = f"½ a {unit}; live: 3 a {unit}{values}"
        return f"PK `{partition}#{{{unit}}}`, SK `total`", each

    def _describe_counter(self, counter: CounterPlan) -> tuple[str, str]:
        by = "#".join(f"{{{part.field}}}" for part in counter.by) or "-"
        key = f"PK `{self._render_slot(counter)}`, SK `{by}`"
        return key, "½ in 10 s for the number of slots: one write in one of them"

    def _describe_counter_ranking(self, counter: CounterPlan) -> tuple[str, str]:
        key, _ = self._describe_ranking(counter.tally)
        live = f"{key}; live: PK `{self._render_slot(counter)}`"
        return live, "2 a page; live: 1, and 1 a slot"

    def _render_slot(self, counter: CounterPlan) -> str:
        head = f"t#*{self.plan.name}.{counter.name}#{counter.since}"
        return f"{self._render_parts(head, counter.within)}#{{slot}}"

    def _render_head(self, declaration: SearchPlan | ListingPlan | AggregatePlan) -> str:
        return f"t#{self.plan.name}.{declaration.name}#{declaration.since}"

    @staticmethod
    def _render_parts(head: str, parts: tuple[Part, ...]) -> str:
        components = [
            f"{{{part.bucket or ('folded' if part.folded else 'each')} of {part.field}}}"
            if part.bucket or part.folded or part.each
            else f"{{{part.field}}}"
            for part in parts
        ]
        return "#".join([head, *components])

    def _describe_reads(self, verb: str) -> str:
        copied = f"{self.copies} for what it copies, " if self.copies else ""
        if self.plan.versions and verb not in ("GET", "key"):
            new = {"POST": "2", "PUT": "1, where there is none 2"}.get(verb, "1")
            reads = new if self.plan.versions == "copy" else "1"
            return f"{reads}, two writes"
        match verb:
            case "GET" | "key":
                return "1"
            case "DELETE" | "delete" if self.has_objects:
                return "1, two writes"
            case "DELETE" | "change" | "delete":
                return "a write"
            case "POST" | "PUT" | "write" if self.checked:
                checks = "a check" if self.checked == 1 else f"{self.checked} checks"
                return f"{1 + self.checked}, {copied}a write and {checks}"
            case "POST" | "PUT" | "write":
                return (
                    f"{'3 for the count of all items, ' if self.is_limited else ''}{copied}a write"
                )
            case _:
                return "1, a write"


def _render_copies(listing: ListingPlan) -> str:
    """The reads of a listing whose rows copy fields, as a suffix of the cell."""
    if "version" in listing.copies:
        return "; or ½ for 4 KB of rows"
    return f"; of {', '.join(listing.copies)} alone ½ for 4 KB of rows" if listing.copies else ""
