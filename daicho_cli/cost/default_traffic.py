"""The traffic of a project that has no traffic file: one size for every declaration."""

from __future__ import annotations

from typing import Any

import tomlkit

from daicho.declare.entity import Entity
from daicho.declare.registry import Daicho
from daicho.plan import EntityPlan, Ledger
from daicho.web.openapi.examples import UNKNOWN, Examples
from daicho_cli.cost.traffic import MONTH_DAYS

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
