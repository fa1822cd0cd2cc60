"""Split entities as they are declared: their plan, their sections, and what cannot be split."""

from __future__ import annotations

import datetime as dt

import pytest
from pydantic import JsonValue

from daicho import (
    Aggregate,
    Count,
    Entity,
    Expires,
    Key,
    Listing,
    Search,
    Split,
    Versioned,
    field,
    uid,
)
from daicho.declare.compiler import compile_entity
from daicho.declare.queries import SectionRef
from daicho.errors import DeclarationError
from daicho.plan import EntityPlan, Ledger, append_generations, check_locked
from tests.support.sample_domains.documents import Document, Photo


def compiled(*wrong: str) -> EntityPlan:
    """The plan of an entity with sections, and what is ``wrong`` with it."""

    class Paper(Entity):
        id: str = uid()
        sections: dict[str, JsonValue] = field()
        kind: str = field(default="")

        key = Key(id)
        split = Split(sections)
        if "search" in wrong:
            search = Search(sections)  # type: ignore[arg-type]
        if "listing" in wrong:
            listing = Listing(kind, order=sections)
        if "aggregate" in wrong:
            aggregate = Aggregate(Count(), sections)
        if "twice" in wrong:
            twice = Split(sections)
        if "kind" in wrong:
            split = Split(kind)
        if "expires" in wrong:
            expires = Expires(dt.timedelta(days=1))
        if "versions" in wrong:
            versions = Versioned("copy")

    return compile_entity(Paper)


def test_the_plan_names_what_is_split_and_a_change_of_it_is_a_generation() -> None:
    plan = compiled()
    assert plan.split == "sections"
    assert EntityPlan.from_json(plan.to_json()) == plan
    assert "split" not in compile_entity(Photo).to_json()
    ledger = append_generations([plan], Ledger())
    check_locked([plan], ledger)
    whole = EntityPlan(name="Paper", fields=plan.fields, key=plan.key)
    with pytest.raises(DeclarationError, match=r"Paper\.sections changed"):
        check_locked([whole], ledger)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            "search",
            r"Paper\.search reads Paper\.sections, which is split: its sections are separate",
        ),
        ("listing", r"Paper\.listing reads Paper\.sections, which is split"),
        ("aggregate", r"Paper\.aggregate reads Paper\.sections, which is split"),
        ("twice", "Paper is split already"),
        ("kind", r"splits Paper\.kind, which has no sections"),
        ("expires", "would leave the sections"),
        ("versions", "versions of Paper would hold no sections"),
    ],
)
def test_what_cannot_be_split_is_refused(wrong: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        compiled(wrong)


def test_a_section_is_asked_for_by_key_and_name() -> None:
    assert Document.split("d", section="s") == SectionRef(Document, ("d",), "s")
    assert Document.split("d", section="s").item == Document.key("d")
