"""The part of a traffic description that older or newer declarations can serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from daicho.plan import EntityPlan, Ledger
from daicho_cli.cost.reads import COLLECTION, INVERSE, VERSIONS
from daicho_cli.cost.traffic import EntityTraffic, Traffic

V = TypeVar("V")


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
            transaction,
            creates=_select(transaction.creates, declared),
            changes=_select(transaction.changes, declared),
            deletes=_select(transaction.deletes, declared),
        )
        for transaction in traffic.transactions
    )
    return replace(traffic, entities=entities, transactions=transactions)


def _select_entity(traffic: EntityTraffic, plan: EntityPlan) -> EntityTraffic:
    lists = dict.fromkeys((COLLECTION, INVERSE, VERSIONS))
    lists |= {listing.name: None for listing in plan.listings}
    lists |= {search.name: None for search in plan.searches}
    tallies = (*plan.aggregates, *(counter.tally for counter in plan.counters))
    figures = {tally.name: None for tally in tallies}
    return replace(
        traffic, pages=_select(traffic.pages, lists), figures=_select(traffic.figures, figures)
    )


def _select(values: Mapping[str, V], names: Mapping[str, object]) -> dict[str, V]:
    return {name: value for name, value in values.items() if name in names}
