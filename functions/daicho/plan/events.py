"""Events: the changes of an item that are published, as plain data.

They derive no stored item, so they are no part of a generation: the lock file has one list of them
for each entity that publishes any, and none in a project without events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from daicho.errors import DeclarationError
from daicho.runtime.frozen_dataclasses import dataclass

Change = Literal["created", "deleted", "changed", "became"]


@dataclass(frozen=True)
class EventPlan:
    """One kind of event of an entity.

    Attributes:
        name: unique in the entity, together with its version.
        version: of what is published; it is part of the type of the event.
        change: what happens to the item.
        fields: the published fields, each with its kind.
        watched: the fields whose change matters.
        values: of "became", the attribute values of the watched field that matter.
        defaults: the attribute values of fields that a stored item may lack.
        subscriber: the name of the function of the project that gets it; empty: the bus does.
    """

    name: str
    version: int
    change: Change
    fields: Mapping[str, str]
    watched: tuple[str, ...] = ()
    values: tuple[Mapping[str, Any], ...] = ()
    defaults: Mapping[str, Mapping[str, Any]] | None = None
    subscriber: str = ""

    @property
    def place(self) -> tuple[str, str, int]:
        """What no other event of the entity has."""
        return self.subscriber, self.name, self.version

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EventPlan:
        """Read what `to_json` wrote."""
        lists = {name: tuple(data.get(name, ())) for name in ("watched", "values")}
        return cls(**{**data, **lists})

    def to_json(self) -> dict[str, Any]:
        """The event in the lock file, without what it does not have."""
        named = {"name": self.name, "version": self.version, "change": self.change}
        lists = {"watched": list(self.watched), "values": list(self.values)}
        optional = {**lists, "defaults": self.defaults, "subscriber": self.subscriber}
        given = {name: value for name, value in optional.items() if value}
        return {**named, "fields": dict(sorted(self.fields.items())), **given}


Events = Mapping[str, tuple[EventPlan, ...]]
"""The events of each entity that publishes any, by the name of the entity."""


def list_receivers(events: Events) -> tuple[str, ...]:
    """The names of the subscribers that get any of these events, and "" if the bus does."""
    return tuple(sorted({each.subscriber for plans in events.values() for each in plans}))


def check_events(declared: Events, locked: Events) -> None:
    """Refuse a published event that would lose a field, or get one of another kind.

    Subscribers are deployed together with their events, which may change.

    Raises:
        DeclarationError: names the event; what is published otherwise is another version.
    """
    for entity, events in declared.items():
        before = {each.place: each.fields for each in locked.get(entity, ()) if not each.subscriber}
        for event in events:
            fields = before.get(event.place, {})
            lost = [name for name, kind in fields.items() if event.fields.get(name) != kind]
            if lost:
                raise DeclarationError(
                    f"the event {event.name!r} of {entity} is published with {', '.join(lost)}, "
                    f"which its subscribers may read: keep it as it is, or write "
                    f"version={event.version + 1}"
                )
