"""Traffic files: read, checked by the declared entities, reduced, and written as an example."""

from __future__ import annotations

import tomllib
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import tomlkit
from pydantic import ValidationError

from daicho.declare.entity import Entity, get_values
from daicho.declare.registry import Daicho
from daicho.errors import Invalid
from daicho.items import mapper
from daicho.plan import EntityPlan, Ledger
from daicho.storage.attributes import from_image
from daicho.web.openapi.examples import UNKNOWN, Examples
from daicho_cli.cost.estimate import list_tallies
from daicho_cli.cost.reads import COLLECTION, INVERSE, VERSIONS
from daicho_cli.cost.traffic import (
    MONTH_DAYS,
    EntityTraffic,
    Traffic,
    TrafficError,
    describe_problem,
    parse_traffic,
)

V = TypeVar("V")


def read_traffic(file: Path, entities: Iterable[type[Entity]]) -> Traffic:
    """Read a traffic file.

    Raises:
        TrafficError: the file cannot be read, or describes something that is not declared.
    """
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TrafficError(f"{file}: {error}") from error
    return complete_traffic(parse_traffic(data), entities)


def complete_traffic(traffic: Traffic, entities: Iterable[type[Entity]]) -> Traffic:
    """The traffic with the default values of the fields that its examples omit.

    Raises:
        TrafficError: an example or a change has a field or a value that its entity does not accept.
    """
    by_name = {entity.__name__: entity for entity in entities}
    completed = {
        name: _complete_entity(by_name[name], described) if name in by_name else described
        for name, described in traffic.entities.items()
    }
    return replace(traffic, entities=completed)


def _complete_entity(entity: type[Entity], traffic: EntityTraffic) -> EntityTraffic:
    for change in traffic.changes:
        if unknown := sorted(set(change.fields) - set(entity.fields_)):
            raise TrafficError(f"{entity.__name__} has no field {unknown[0]!r} to change")
    examples = tuple(complete_example(entity, values) for values in traffic.examples)
    return replace(traffic, examples=examples)


def complete_example(entity: type[Entity], values: Mapping[str, Any]) -> dict[str, Any]:
    """The stored values of an item with these ``values``: with defaults, and as plain values.

    Values of copied and computed fields are taken as they are.

    Raises:
        TrafficError: names the field that does not exist, is missing or has a wrong value.
    """
    copied = {name for name, spec in entity.fields_.items() if spec.is_derived}
    arguments = {name: value for name, value in values.items() if name not in copied}
    try:
        item = entity(**arguments)
        stored = from_image(mapper.to_field_image(entity, get_values(item)))
    except ValidationError as error:
        problem = describe_problem(error)
        raise TrafficError(f"an example of {entity.__name__}: {problem}") from error
    except Invalid as error:
        raise TrafficError(f"an example of {entity.__name__}: {error}") from error
    kept = {name: value for name, value in values.items() if name in copied}
    split = entity.split_field_
    if split is not None:
        kept[split.name] = values.get(split.name, {})
    return {**{name: value for name, value in stored.items() if value is not None}, **kept}


def select_declared(traffic: Traffic, ledger: Ledger) -> Traffic:
    """The traffic without the entities, lists and figures that a ledger does not have."""
    declared = ledger.entities
    entities = {
        name: _select_entity(described, ledger.current_generation(name).plan)
        for name, described in traffic.entities.items()
        if name in declared
    }
    transactions = tuple(
        replace(
            each,
            creates=_select(each.creates, declared),
            changes=_select(each.changes, declared),
            deletes=_select(each.deletes, declared),
        )
        for each in traffic.transactions
    )
    return replace(traffic, entities=entities, transactions=transactions)


def _select_entity(traffic: EntityTraffic, plan: EntityPlan) -> EntityTraffic:
    lists = {COLLECTION, INVERSE, VERSIONS, *(each.name for each in plan.listings)}
    lists |= {search.name for search in plan.searches}
    figures = _select(traffic.figures, list_tallies(plan))
    return replace(traffic, pages=_select(traffic.pages, lists), figures=figures)


def _select(values: Mapping[str, V], names: Container[str]) -> dict[str, V]:
    return {name: value for name, value in values.items() if name in names}


ITEMS, CREATES, READS, CHANGES, DELETES = 10_000, 10_000, 30_000, 3_000, 1_000
PAGES, SHOWN, GROUPS, FIGURES, TOPS = 10_000, 20, 100, 10_000, 1_000
HEAD = """What one month of traffic looks like: `daicho cost {name}` estimates the bill of it.
Every number is of the whole stack and of all tenants together. Replace the numbers, and the
examples by some typical items: what an item derives follows from them. All keys are described in
docs/how-to/estimate-costs.md."""


def build_default_traffic(daicho: Daicho, ledger: Ledger) -> dict[str, Any]:
    """The content of a traffic file with every entity and declaration.

    10,000 items a month of each entity, three readings of each, and 10,000 pages of each list.
    """
    entities = {}
    for domain in daicho.domains:
        for entity in domain.entities:
            plan = ledger.current_generation(entity.__name__).plan
            example = make_example(entity, domain.name, daicho)
            entities[entity.__name__] = _describe_entity(entity, plan, example)
    return {"days": int(MONTH_DAYS), "entities": entities}


def render_traffic_file(data: dict[str, Any], name: str) -> str:
    """A traffic file as TOML, with a comment that explains it."""
    document = tomlkit.document()
    for line in HEAD.format(name=name).splitlines():
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    for key, value in data.items():
        document.add(key, tomlkit.item(value))
    return tomlkit.dumps(document)


def make_example(entity: type[Entity], domain: str, daicho: Daicho) -> dict[str, Any]:
    """A plausible item: the values of the API's description."""
    schema = entity.model_.model_json_schema()
    example = Examples(daicho.examples, schema.get("$defs", {})).make_example(schema, domain)
    fields = entity.fields_
    return {
        name: value
        for name, value in example.items()
        if value not in (None, UNKNOWN, "", [], {}) and fields[name].role != "uid"
    }


def _describe_entity(
    entity: type[Entity], plan: EntityPlan, example: dict[str, Any]
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "items": ITEMS, "creates": CREATES, "reads": READS, "examples": [example],
    }  # fmt: skip
    described |= {"deletes": DELETES} if plan.expires is None else {"expiries": CREATES}
    for name, value in example.items():
        spec = entity.fields_[name]
        is_text = spec.kind == "str" and spec.literals is None and spec.role == "plain"
        if is_text and not spec.frozen and name not in plan.key.fields:
            described["changes"] = [{"count": CHANGES, "fields": {name: f"{value} 2"}}]
            break
    described |= _describe_reads(plan, example)
    return described


def _describe_reads(plan: EntityPlan, example: dict[str, Any]) -> dict[str, Any]:
    page = {"count": PAGES, "items": SHOWN}
    pages: dict[str, Any] = {listing.name: dict(page) for listing in plan.listings}
    for search in plan.searches:
        texts = [example[name] for name in search.fields if example.get(name)]
        words = str(texts[0]).split() if texts else []
        keyword = {"keyword": words[0][:4]} if words else {}
        pages[search.name] = {**page, **keyword}
    if plan.key.sort:
        pages["key"] = dict(page)
    figures: dict[str, Any] = {}
    for aggregate in plan.aggregates:
        groups = GROUPS if aggregate.by or aggregate.within else 1
        figures[aggregate.name] = {"groups": groups, "reads": FIGURES}
        if aggregate.ranked:
            figures[aggregate.name]["tops"] = TOPS
    for counter in plan.counters:
        figures[counter.name] = {"groups": GROUPS, "votes": CREATES, "tops": TOPS}
    described = {"pages": pages, "figures": figures}
    return {name: tables for name, tables in described.items() if tables}
