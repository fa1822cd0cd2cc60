"""Daicho: entities declared once, and everything derived from them kept exact.

What a domain file writes comes from here: ``from daicho import Entity, Key, field``. Each name is
loaded on its first access (`runtime.lazy_names`), so that the stream functions, which import
modules of this package, load neither Pydantic nor the declarations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daicho.runtime.lazy_names import lazy_imports
from daicho.runtime.version import VERSION as _VERSION

if TYPE_CHECKING:
    from daicho.book.book import Book as Book
    from daicho.declare.aggregates import Aggregate as Aggregate
    from daicho.declare.aggregates import Counter as Counter
    from daicho.declare.domain import Domain as Domain
    from daicho.declare.entity import Entity as Entity
    from daicho.declare.events import became as became
    from daicho.declare.events import changed as changed
    from daicho.declare.events import created as created
    from daicho.declare.events import deleted as deleted
    from daicho.declare.expires import Expires as Expires
    from daicho.declare.fields import changed_at as changed_at
    from daicho.declare.fields import copied as copied
    from daicho.declare.fields import created_at as created_at
    from daicho.declare.fields import field as field
    from daicho.declare.fields import id_of as id_of
    from daicho.declare.fields import new_id as new_id
    from daicho.declare.fields import now as now
    from daicho.declare.fields import ref as ref
    from daicho.declare.fields import refs as refs
    from daicho.declare.fields import uid as uid
    from daicho.declare.figures.measures import Count as Count
    from daicho.declare.figures.measures import Max as Max
    from daicho.declare.figures.measures import Mean as Mean
    from daicho.declare.figures.measures import Min as Min
    from daicho.declare.figures.measures import Percentiles as Percentiles
    from daicho.declare.figures.measures import Sum as Sum
    from daicho.declare.figures.measures import Variance as Variance
    from daicho.declare.figures.measures import explicit as explicit
    from daicho.declare.figures.measures import linear as linear
    from daicho.declare.figures.measures import logarithmic as logarithmic
    from daicho.declare.keys import Edge as Edge
    from daicho.declare.keys import Key as Key
    from daicho.declare.listings import Listing as Listing
    from daicho.declare.parts import band as band
    from daicho.declare.parts import day as day
    from daicho.declare.parts import each as each
    from daicho.declare.parts import folded as folded
    from daicho.declare.parts import hour as hour
    from daicho.declare.parts import month as month
    from daicho.declare.parts import one_of as one_of
    from daicho.declare.parts import quarter as quarter
    from daicho.declare.parts import week as week
    from daicho.declare.parts import year as year
    from daicho.declare.results import Page as Page
    from daicho.declare.results import Score as Score
    from daicho.declare.results import SectionValue as SectionValue
    from daicho.declare.results import VoteResult as VoteResult
    from daicho.declare.rules.access import owned_by_caller as owned_by_caller
    from daicho.declare.rules.caller import Caller as Caller
    from daicho.declare.rules.rule_set import ChangeCheck as ChangeCheck
    from daicho.declare.rules.rule_set import Check as Check
    from daicho.declare.rules.rule_set import Frozen as Frozen
    from daicho.declare.rules.rule_set import computed as computed
    from daicho.declare.rules.transitions import transition as transition
    from daicho.declare.rules.unique import Unique as Unique
    from daicho.declare.searches import Search as Search
    from daicho.declare.searches import through as through
    from daicho.declare.split import Split as Split
    from daicho.declare.stored_objects import StoredObject as StoredObject
    from daicho.declare.stored_objects import stored_object as stored_object
    from daicho.declare.subscribers import Event as Event
    from daicho.declare.subscribers import Grant as Grant
    from daicho.declare.versioned import Versioned as Versioned
    from daicho.errors import Conflict as Conflict
    from daicho.errors import refuse as refuse
    from daicho.plan.migrations import migration as migration
    from daicho.storage.keys import shards_for as shards_for
    from daicho.web.schema.wire_types import Addressable as Addressable
    from daicho.web.schema.wire_types import Day as Day
    from daicho.web.schema.wire_types import Instant as Instant

_NAMES = {
    "book.book": ("Book",),
    "declare.aggregates": ("Aggregate", "Counter",),
    "declare.figures.measures": (
        *("Count", "Max", "Mean", "Min", "Percentiles", "Sum", "Variance"),
        *("explicit", "linear", "logarithmic"),
    ),
    "declare.domain": ("Domain",),
    "declare.entity": ("Entity",),
    "declare.events": ("became", "changed", "created", "deleted"),
    "declare.expires": ("Expires",),
    "declare.fields": (
        "changed_at", "copied", "created_at", "field", "id_of", "new_id", "now", "ref", "refs",
        "uid",
    ),
    "declare.keys": ("Edge", "Key"),
    "declare.listings": ("Listing",),
    "declare.parts": (
        *("band", "day", "each", "folded", "hour", "month", "one_of", "quarter", "week", "year"),
    ),
    "declare.results": ("Page", "Score", "SectionValue", "VoteResult"),
    "declare.rules.access": ("owned_by_caller",),
    "declare.rules.caller": ("Caller",),
    "declare.rules.rule_set": ("ChangeCheck", "Check", "Frozen", "computed"),
    "declare.rules.transitions": ("transition",),
    "declare.rules.unique": ("Unique",),
    "declare.searches": ("Search", "through"),
    "declare.split": ("Split",),
    "declare.stored_objects": ("StoredObject", "stored_object"),
    "declare.subscribers": ("Event", "Grant"),
    "declare.versioned": ("Versioned",),
    "errors": ("Conflict", "refuse"),
    "plan.migrations": ("migration",),
    "storage.keys": ("shards_for",),
    "web.schema.wire_types": ("Addressable", "Day", "Instant"),
}  # fmt: skip
"""The public names by the module that defines them: the same as above, which mypy reads."""
__all__ = sorted(name for names in _NAMES.values() for name in names)  # noqa: PLE0605  # a test holds it to what the documentation lists
__version__ = _VERSION
__getattr__ = lazy_imports(__name__, _NAMES)
