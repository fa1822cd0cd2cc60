"""What must be answered, recomputed from base items by loops alone.

Nothing of the library derives here: items are read as they are stored, and compared field by field.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.rebuild.items import ARTISTS, COUNTRIES, NAMES, STATUSES, WRITTEN, Fields

Question = tuple[str, str]
"""A declaration and what is asked of it: ``("Event.by_country", "c01")``."""
Answer = tuple[int, int] | frozenset[str]
"""A total and the number of items, or the ids of a list."""


@dataclass
class Truth:
    """The right answers; a question without one has a total of 0, or an empty list."""

    totals: dict[Question, tuple[int, int]] = field(default_factory=lambda: defaultdict(_zero))
    lists: dict[Question, set[str]] = field(default_factory=lambda: defaultdict(set))

    def answer(self, question: Question) -> Answer:
        """The right answer to a question."""
        if question[0] == "Person.search":
            return frozenset(self.lists.get(question, ()))
        return self.totals.get(question, (0, 0))

    def add(self, declaration: str, group: str, amount: int) -> None:
        """Count an item in a group."""
        total, items = self.totals[declaration, group]
        self.totals[declaration, group] = (total + amount, items + 1)


def compute_before(items: Iterable[tuple[str, Fields]]) -> Truth:
    """The answers by the declarations before the change."""
    truth = Truth()
    for entity, item in items:
        match entity:
            case "Sale":
                truth.add("Sale.per_country", item["country"], 1)
            case "Person":
                for name in _TERMS:
                    if item["name"].startswith(name):
                        truth.lists["Person.search", name].add(item["id"])
            case _:
                continue
    return truth


def compute_after(items: Iterable[tuple[str, Fields]]) -> Truth:
    """The answers by the declarations after the change."""
    truth = Truth()
    for entity, item in items:
        match entity:
            case "Event":
                amount = int(item["amount"])
                truth.add("Event.by_country", item["country"], amount)
                truth.add("Event.by_size", render_size(item["country"], amount), 1)
            case "Sale":
                if item["status"] == "paid":
                    truth.add("Sale.per_country", item["country"], 1)
                truth.add("Sale.revenue", item["status"], int(item["amount"]))
            case "Person":
                for name in _TERMS:
                    if item["name"].startswith(name) or item["email"].startswith(name):
                        truth.lists["Person.search", name].add(item["id"])
            case "Follow":
                truth.add("Follow.fans", item["artist"], 1)
            case other:
                raise ValueError(other)
    return truth


def render_size(country: str, amount: int) -> str:
    """The size that an event is to have."""
    return country + (" small" if amount < 50 else " big")


def list_questions(*, quiet: bool) -> list[Question]:
    """All questions; only those about quiet items, or those about items of writers too."""
    more: tuple[str, ...] = () if quiet else WRITTEN
    groups: dict[str, Iterable[str]] = {
        "Event.by_country": (*COUNTRIES, *more),
        "Event.by_size": [
            render_size(country, amount) for country in (*COUNTRIES, *more) for amount in (0, 50)
        ],
        "Sale.per_country": (*COUNTRIES, *more),
        "Sale.revenue": (*STATUSES, *more),
        "Person.search": (*NAMES, *more),
        "Follow.fans": (*ARTISTS, *more),
    }
    return [(declaration, group) for declaration, every in groups.items() for group in every]


_TERMS = (*NAMES, *WRITTEN)


def _zero() -> tuple[int, int]:
    return (0, 0)


def read_fields(image: Mapping[str, Any]) -> Fields:
    """The fields of a stored item, of DynamoDB's own form."""
    return {name: next(iter(value.values())) for name, value in image.items()}
