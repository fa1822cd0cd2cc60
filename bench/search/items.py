"""The same contacts as Daicho's items and as seed 001's: base items and everything derived."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import islice
from typing import Any

import domains
from bench.search import baseline
from bench.search.contact_generator import Contact, Crowd
from bench.search.datasets import Dataset
from daicho.declare.entity import Entity
from daicho.declare.registry import Daicho
from daicho.derive import contributions, derived_items
from daicho.derive.contributions import Amount
from daicho.items.mapper import to_field_image
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger, SearchPlan
from daicho.search import grams
from daicho.storage import attributes
from daicho.storage.attributes import Image
from daicho.tally import slots, total_items
from daicho.tally.rankings import build_ranking_key
from domains import contacts as declared
from tests.support.dynoxide import create_table

MAIN, LABELLED = "acme", "labels"
LABELLED_CONTACTS = 10_000
LABELS = tuple(f"顧客第{n // 10:02d}区支店{n:03d}" for n in range(1_000))
"""Names of a thousand categories.

One beginning matches all of them, one matches ten, and one matches a single category.
"""

SMALL_CONTACTS = 200
SAMPLE = 2_500
BUSIEST, BUSY = 12, 2_000
BLOCK = 500
"""Number of consecutive contacts that one process makes."""

WRITE_UNIT = 1_024
WEIGHED = 50_000
"""Contacts whose write units are counted."""

FEW = 300
"""Number of contacts whose items show whether a file has the current derivation."""

ITEMS_A_CONTACT = {"prefix": 22, "contains": 66}
"""Approximate numbers, for the progress bar."""


@cache
def ledger(mode: grams.Mode) -> Ledger:
    """The declared plans, with the contacts' search by ``mode``."""
    base_ledger = Daicho.discover(domains).check_locked(Ledger.load())
    current = base_ledger.current_generation("Contact")
    (search,) = current.plan.searches
    searches = (search if mode == "prefix" else _inside(search),)
    generation = replace(current, plan=replace(current.plan, searches=searches))
    return Ledger({**base_ledger.entities, "Contact": (generation,)})


def _inside(search: SearchPlan) -> SearchPlan:
    """The same search by any part of the fields, in its declared form."""
    steps, digits = grams.INSIDE_STEPS_WITH_DIGITS, grams.INSIDE_DIGIT_STEPS
    return replace(search, mode="contains", steps=steps, digits=digits, kana=())


@dataclass(frozen=True)
class Scale:
    """The number of contacts, the number of other tenants, and the mode of the search."""

    mode: grams.Mode
    size: int
    small_tenants: int = 0

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.mode}-{self.size}"

    def crowds(self) -> Iterator[tuple[str, Crowd]]:
        """The tenants and their contacts."""
        yield MAIN, Crowd(self.size, MAIN)
        if self.mode == "prefix":
            yield LABELLED, Crowd(LABELLED_CONTACTS, LABELLED, LABELS)
        for number in range(self.small_tenants):
            yield f"small-{number}", Crowd(SMALL_CONTACTS, f"small {number}")

    @property
    def people(self) -> int:
        """The number of contacts of all tenants."""
        labelled = LABELLED_CONTACTS if self.mode == "prefix" else 0
        return self.size + labelled + self.small_tenants * SMALL_CONTACTS

    def ours(self) -> Dataset:
        """Daicho's table."""
        maker = DaichoItems(self)
        about = ITEMS_A_CONTACT[self.mode] * self.people
        return Dataset(self.name, _digest(self, maker.few()), create_table, maker, about)

    def theirs(self) -> Dataset:
        """Seed 001's table."""
        maker = PeerItems(self)
        return Dataset(
            f"seed-001-{self.name}",
            _digest(self, islice(maker.items(0, 1), FEW)),
            lambda dynamodb, name: dynamodb.create_table(
                TableName=name, **baseline.table(contains=self.mode == "contains")
            ),
            maker,
            6 * self.people,
        )


class PeerItems:
    """Seed 001's items."""

    def __init__(self, scale: Scale) -> None:
        self._scale = scale

    def items(self, share: int, of: int) -> Iterator[Image]:
        """Every ``of``-th block of contacts from the ``share``-th on; categories with the first."""
        contains = self._scale.mode == "contains"
        for tenant, crowd in self._scale.crowds():
            for category in crowd.categories if share == 0 else ():
                yield from baseline.category_items(tenant, category)
            for _, contact in _shared(crowd, share, of):
                yield from baseline.contact_items(tenant, contact, contains=contains)

    def collect_facts(self) -> None:
        """Nothing."""

    def rest(self, _learnt: Sequence[Any]) -> tuple[list[Image], dict[str, Any]]:
        """Nothing."""
        return [], {}


@dataclass
class Facts:
    """Facts about the main tenant's contacts, and the tallies of every tenant."""

    units: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    writes: Counter[str] = field(default_factory=Counter)
    sample: list[tuple[str, ...]] = field(default_factory=list)
    tallies: dict[str, Amount] = field(default_factory=dict)

    def add(
        self, number: int, size: int, contact: Contact, image: Image, rows: list[Image]
    ) -> None:
        """Count one contact."""
        if number % max(1, size // SAMPLE) == 0:
            self.sample.append((contact.name, contact.company, contact.phone, contact.email))
        if number < WEIGHED:
            self.units.append(write_units(image) + sum(2 * write_units(row) for row in rows))
            self.rows.append(len(rows))
        self.writes.update(row["GSI2PK"]["S"] for row in rows)

    def merge(self, other: Facts) -> None:
        """Add the facts of another process."""
        self.units += other.units
        self.rows += other.rows
        self.sample += other.sample
        self.writes += other.writes
        for tally, amount in other.tallies.items():
            self.tallies[tally] = self.tallies.get(tally, Amount()) + amount

    def summarize(self, contacts: int) -> dict[str, Any]:
        """Means, the worst, and the busiest keys of the index."""
        return {
            "units": _spread(self.units),
            "rows": _spread(self.rows),
            "busiest": self.writes.most_common(BUSIEST),
            "contacts": contacts,
            "weighed": len(self.units),
            "sample": sorted(self.sample),
        }


class DaichoItems:
    """Daicho's items: the base items, the derived items of the projector, and the totals."""

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self._ledger = ledger(scale.mode)
        self._facts = Facts()

    def items(self, share: int, of: int) -> Iterator[Image]:
        """Every ``of``-th block of contacts from the ``share``-th on; categories with the first."""
        facts = self._facts = Facts()
        for tenant, crowd in self._scale.crowds():
            for category in crowd.categories if share == 0 else ():
                image = self._image(tenant, declared.Category, asdict(category))
                yield from (image, *self._derived(image))
                self._count(image)
            for number, contact in _shared(crowd, share, of):
                image = self._contact(tenant, contact)
                derived = self._derived(image)
                yield image
                yield from derived
                self._count(image)
                if tenant == MAIN:
                    facts.add(number, self._scale.size, contact, image, derived)

    def collect_facts(self) -> Facts:
        """The facts about the items of this process; of the index keys, only the busiest."""
        facts = self._facts
        facts.writes = Counter(dict(facts.writes.most_common(BUSY)))
        return facts

    def rest(self, learnt: Sequence[Facts]) -> tuple[list[Image], dict[str, Any]]:
        """The totals of all tallies, and the statistics."""
        total = Facts()
        for facts in learnt:
            total.merge(facts)
        totals = [self._total(*entry) for entry in total.tallies.items()]
        return totals, total.summarize(self._scale.size)

    def few(self) -> Iterator[Image]:
        """The items of a few contacts."""
        tenant, crowd = next(self._scale.crowds())
        for contact in islice(crowd, FEW):
            image = self._contact(tenant, contact)
            yield from (image, *self._derived(image))

    def _contact(self, tenant: str, contact: Contact) -> Image:
        values = {"id": contact.id, "created": contact.created, **_fields(contact)}
        return self._image(tenant, declared.Contact, values)

    def _image(self, tenant: str, entity: type[Entity], values: Mapping[str, Any]) -> Image:
        generation = self._ledger.current_generation(entity.__name__)
        return build_base_item(
            tenant, generation, to_field_image(entity, values), values["created"]
        )

    def _derived(self, image: Image) -> list[Image]:
        plan = self._ledger.current_generation(image["type"]["S"]).plan
        return [
            {
                "PK": {"S": key.pk},
                "SK": {"S": key.sk},
                "GSI2PK": {"S": row.gsi2pk},
                "GSI2SK": {"S": row.gsi2sk},
                "seq": {"S": "0" * 29 + "1"},
            }
            for key, row in derived_items.compute_index_rows(plan, image).items()
        ]

    def _count(self, image: Image) -> None:
        plan, tallies = (
            self._ledger.current_generation(image["type"]["S"]).plan,
            self._facts.tallies,
        )
        for tally, amount in contributions.compute_contributions(plan, image).items():
            tallies[tally] = tallies.get(tally, Amount()) + amount

    def _total(self, tally: str, amount: Amount) -> Image:
        """A total in the form that the rollup writes."""
        name = slots.TallyName.parse(tally)
        plan, aggregate = self._ledger.find_aggregate(name.entity, name.aggregate, name.since)
        key, place = (
            total_items.build_total_key(tally),
            build_ranking_key(name, plan, aggregate, amount),
        )
        ranked = {"GSI3PK": {"S": place.pk}, "GSI3SK": {"S": place.sk}} if place else {}
        return {
            "PK": {"S": key.pk},
            "SK": {"S": key.sk},
            "items": attributes.to_value(amount.items),
            "total": attributes.to_value(amount.total),
            "rev": {"N": "1"},
            **ranked,
        }


def _shared(crowd: Crowd, share: int, of: int) -> Iterator[tuple[int, Contact]]:
    for number, contact in enumerate(crowd):
        if number // BLOCK % of == share:
            yield number, contact


def write_units(image: Image) -> int:
    """The write units of one write of an item: one for each started KB."""
    return -(-attributes.measure_image(image) // WRITE_UNIT)


def theirs_units(scale: Scale) -> float:
    """Mean write units of a contact in seed 001's layout, over the first contacts."""
    contains = scale.mode == "contains"
    units = [
        sum(
            write_units(item) * (2 if "SearchType" in item else 1)
            for item in baseline.contact_items(MAIN, contact, contains=contains)
        )
        for contact in islice(Crowd(scale.size, MAIN), SAMPLE)
    ]
    return statistics.fmean(units)


def _fields(contact: Contact) -> dict[str, Any]:
    return {
        "name": contact.name,
        "company": contact.company,
        "phone": contact.phone,
        "email": contact.email,
        "categories": {category.id for category in contact.categories},
    }


def _spread(values: list[int]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "mean": statistics.fmean(ordered),
        "p95": ordered[int(len(ordered) * 0.95)],
        "max": ordered[-1],
    }


def _digest(scale: Scale, items: Iterable[Image]) -> str:
    """A digest that distinguishes files.

    It covers the number of contacts, their tenants, and the items of a few contacts.
    """
    digest = hashlib.blake2b(repr((scale, LABELS)).encode(), digest_size=6)
    for line in sorted(json.dumps(item, sort_keys=True) for item in items):
        digest.update(line.encode())
    return digest.hexdigest()
