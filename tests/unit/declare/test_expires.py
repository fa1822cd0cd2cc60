"""What `Expires` compiles to, and what it refuses."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import pytest

from daicho import Expires, Key, Listing, changed_at, field, one_of, uid
from daicho.declare.compiler import compile_entity
from daicho.declare.entity import Entity, EntityMeta
from daicho.errors import DeclarationError

HOUR = dt.timedelta(hours=1)
FIELDS: dict[str, Any] = {
    **{"id": str, "name": str, "due": dt.date, "at": dt.datetime | None},
    "status": Literal["open", "void"],
}


def compile_with(make: Any) -> Any:
    """The plan of an entity with the declarations that a function makes of its fields."""
    specs: dict[str, Any] = {name: field() for name in FIELDS} | {"id": uid()}
    body = {**specs, **make(specs), "key": Key(specs["id"]), "__annotations__": FIELDS}
    entity: Any = EntityMeta("Bill", (Entity,), {**body, "__module__": __name__})
    return compile_entity(entity)


def expire(**rule: Any) -> Any:
    def make(fields: dict[str, Any]) -> dict[str, Any]:
        read = {name: fields.get(value, value) for name, value in rule.items() if name == "of"}
        if "where" in rule:
            read["where"] = one_of(fields["status"], rule["where"])
        return {"expires": Expires(rule.get("after", HOUR), **read)}

    return make


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"after": 0 * HOUR}, "Bill.expires needs a duration of at least one second after created"),
        ({"after": -HOUR, "of": changed_at}, "after changed_at; a negative one needs a field"),
        ({"of": "name"}, "Bill.expires reads Bill.name, which is str; it takes date or datetime"),
        ({"where": "late"}, "'late' is not a value of Bill.status"),
        ({"after": 3_600}, r"Expires takes a timedelta, not 3600: Expires\(timedelta\(days=30\)\)"),
    ],
)
def test_a_wrong_rule_is_refused(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        compile_with(expire(**rule))


def test_no_other_declaration_reads_the_last_change() -> None:
    with pytest.raises(DeclarationError, match=r"Bill.recent reads changed_at, which only Expires"):
        compile_with(lambda _: {"recent": Listing(order=changed_at)})
