"""Entities that refer to one another: one keeps what it refers to, and others go with it."""

from __future__ import annotations

from daicho import Aggregate, Count, Domain, Entity, Key, Listing, Versioned, field, ref
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.testing.simulated_entities import simulate_ledger


class Owner(Entity):
    """What all others refer to."""

    id: str = field()
    note: str = field(default="")

    key = Key(id)
    of_note = Listing(note)


class Lease(Entity):
    """Its owner is not deleted while it exists."""

    id: str = field()
    owner: str | None = ref(Owner, must_exist=True, on_delete="refuse", default=None)
    note: str = field(default="")

    key = Key(id)
    count = Aggregate(Count(), owner)


class Chair(Entity):
    """It is deleted with its owner, and its versions are kept."""

    id: str = field()
    owner: str = ref(Owner, must_exist=True, on_delete="cascade")
    note: str = field(default="")

    key = Key(id)
    versions = Versioned("copy")
    of_owner = Listing(owner)


class Cushion(Entity):
    """It is deleted with its chair."""

    id: str = field()
    chair: str = ref(Chair, must_exist=True, on_delete="cascade")

    key = Key(id)
    of_chair = Listing(chair)


NAMES = ("Chair", "Cushion", "Lease", "Owner")
REFERENCES = {
    "Lease": ("owner", "Owner"),
    "Chair": ("owner", "Owner"),
    "Cushion": ("chair", "Chair"),
}
"""The field of each entity that refers to another one, written down once more."""
LEDGER = Daicho(Domain("references", Owner, Lease, Chair, Cushion)).append_generations(Ledger())
ENTITIES = simulate_ledger(LEDGER)
