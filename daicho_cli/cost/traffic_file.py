"""Traffic files: read, checked by the declared entities, and reduced to those of a lock file."""

from __future__ import annotations

import tomllib
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from daicho.declare.entity import Entity, get_values
from daicho.errors import Invalid
from daicho.items import mapper
from daicho.plan import EntityPlan, Ledger
from daicho.storage.attributes import from_image
from daicho_cli.cost.estimate import list_tallies
from daicho_cli.cost.file_values import describe_problem
from daicho_cli.cost.reads import COLLECTION, INVERSE, VERSIONS
from daicho_cli.cost.traffic import EntityTraffic, Traffic, TrafficError, parse_traffic

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
