"""Daicho: entities declared once, and everything derived from them kept exact.

What a domain file writes comes from here: ``from daicho import Entity, Key, field``. The names
are loaded when they are asked for, so that the stream functions, which import modules of this
package, load neither Pydantic nor the declarations.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daicho.book import Book as Book
    from daicho.declarations import Aggregate as Aggregate
    from daicho.declarations import Count as Count
    from daicho.declarations import Counter as Counter
    from daicho.declarations import Edge as Edge
    from daicho.declarations import Expires as Expires
    from daicho.declarations import Key as Key
    from daicho.declarations import Sum as Sum
    from daicho.declarations import day as day
    from daicho.declarations import each as each
    from daicho.declarations import folded as folded
    from daicho.declarations import month as month
    from daicho.declarations import one_of as one_of
    from daicho.domain import Domain as Domain
    from daicho.entity import Entity as Entity
    from daicho.errors import Conflict as Conflict
    from daicho.errors import refuse as refuse
    from daicho.fields import copied as copied
    from daicho.fields import created_at as created_at
    from daicho.fields import field as field
    from daicho.fields import id_of as id_of
    from daicho.fields import new_id as new_id
    from daicho.fields import now as now
    from daicho.fields import ref as ref
    from daicho.fields import refs as refs
    from daicho.fields import uid as uid
    from daicho.keys import shards_for as shards_for
    from daicho.listings import Listing as Listing
    from daicho.objects import StoredObject as StoredObject
    from daicho.objects import stored_object as stored_object
    from daicho.questions import Counted as Counted
    from daicho.questions import Held as Held
    from daicho.questions import Page as Page
    from daicho.questions import Score as Score
    from daicho.searching import Search as Search
    from daicho.searching import through as through
    from daicho.splitting import Split as Split
    from daicho.versioned import Versioned as Versioned
    from daicho.web.wire import Addressable as Addressable
    from daicho.web.wire import Day as Day
    from daicho.web.wire import Instant as Instant

_HOMES = {
    "book": ("Book",),
    "declarations": (
        "Aggregate", "Count", "Counter", "Edge", "Expires", "Key", "Sum",
        "day", "each", "folded", "month", "one_of",
    ),
    "domain": ("Domain",),
    "entity": ("Entity",),
    "errors": ("Conflict", "refuse"),
    "fields": ("copied", "created_at", "field", "id_of", "new_id", "now", "ref", "refs", "uid"),
    "keys": ("shards_for",),
    "listings": ("Listing",),
    "objects": ("StoredObject", "stored_object"),
    "questions": ("Counted", "Held", "Page", "Score"),
    "searching": ("Search", "through"),
    "splitting": ("Split",),
    "versioned": ("Versioned",),
    "web.wire": ("Addressable", "Day", "Instant"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module 'daicho' has no attribute {name!r}") from None
    return getattr(importlib.import_module(f"daicho.{home}"), name)
