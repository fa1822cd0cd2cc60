"""Which events a change of an item is, and what is published of it. Pure.

A function of the images before and after the change, so a repeat of the record has the same events.
Images are compared as they are stored; a field that a stored item lacks has its default. No change
is published by a write that keeps the version of the item, such as a touch or a repair, by a
restore, nor by a write that is marked as quiet, such as a load.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from daicho.errors import Invalid
from daicho.layout.base_item import find_longest_field
from daicho.layout.marks import RESTORED_MARK
from daicho.plan.events import EventPlan
from daicho.storage.attributes import AttributeValue, Image, equal_images
from daicho.storage.plain_json import to_plain_json

QUIET_MARK = "_quiet"
"""The attribute of an item with the version whose write is not published."""
CAUSE_MARK = "_cause"
"""The attribute of an item that names who wrote it, where its changes are events: each write by a
`Book` replaces it."""
MAX_FIELDS_BYTES = 120_000
"""The published fields of an image as JSON. Two images and the rest are less than the 256 KB that
each part of the way has taken since it exists."""
_NOT_IN_XML = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
"""The characters that SQS refuses, besides control characters, which JSON escapes anyway."""
_NOTHING: AttributeValue = {}


def list_events(
    events: Iterable[EventPlan], old: Image | None, new: Image | None
) -> tuple[EventPlan, ...]:
    """The events that a change is; none if it is not to be published."""
    if new is not None and _is_quiet(old, new):
        return ()
    before = find_predecessor(old, new)
    return tuple(event for event in events if _has_occurred(event, before, new))


def find_predecessor(old: Image | None, new: Image | None) -> Image | None:
    """The old image, if it is of the same item: one that expired may be replaced by another."""
    is_same = new is None or old is None or old.get("created_at") == new.get("created_at")
    return old if is_same else None


def mark_quiet(image: Image, events: Iterable[EventPlan]) -> Image:
    """An image whose write is not published; the same one if its entity publishes nothing."""
    return {**image, QUIET_MARK: image["version"]} if events else image


def mark_cause(image: Image, actor: str, hops: int) -> dict[str, AttributeValue]:
    """An image that names who writes it; ``hops``: see `daicho.Event`."""
    cause: dict[str, AttributeValue] = {"actor": {"S": actor}} if actor else {}
    return {**image, CAUSE_MARK: {"M": {**cause, **({"hops": {"N": str(hops)}} if hops else {})}}}


def describe_cause(old: Image | None, new: Image | None) -> dict[str, Any]:
    """The extensions ``actor`` and ``hops`` of an event, where they are known.

    The image of a deletion names who wrote the item, and not who deleted it. A loop of deletions
    and creations is counted all the same.
    """
    cause = (new or old or {}).get(CAUSE_MARK, _NOTHING).get("M", _NOTHING)
    actor = {"actor": cause["actor"]["S"]} if new is not None and "actor" in cause else {}
    return {**actor, **({"hops": int(cause["hops"]["N"])} if "hops" in cause else {})}


def render_fields(event: EventPlan, image: Image | None) -> dict[str, Any] | None:
    """The published fields of an image, as JSON values; None of an item that does not exist.

    A decimal is text, so that no digit is lost.
    """
    if image is None:
        return None
    stored = {**(event.defaults or {}), **image}
    shown = to_plain_json({name: stored[name] for name in event.fields if name in stored}) or {}
    return {
        name: str(value) if kind == "decimal" and value is not None else value
        for name, kind in event.fields.items()
        for value in [shown.get(name)]
    }


def render_json(values: Any) -> str:
    """JSON that a message of SQS may contain."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_NOT_IN_XML)


def is_too_large(fields: Any) -> bool:
    """Whether published fields take more than `MAX_FIELDS_BYTES`."""
    return len(render_json(fields).encode(errors="surrogatepass")) > MAX_FIELDS_BYTES


def check_published_size(events: Iterable[EventPlan], image: Image) -> None:
    """Refuse an item that is too large to be published.

    Raises:
        Invalid: names the largest field.
    """
    for event in events:
        if is_too_large(render_fields(event, image)):
            raise Invalid(
                f"the fields of the event {event.name!r} take more than {MAX_FIELDS_BYTES} bytes",
                field=find_longest_field(image, event.fields),
            )


def _is_quiet(old: Image | None, new: Image) -> bool:
    version = new.get("version")
    if version is None:
        return False
    restored = new.get(RESTORED_MARK, _NOTHING).get("M", _NOTHING).get("version")
    if version in (new.get(QUIET_MARK), restored):
        return True
    return old is not None and find_predecessor(old, new) is old and old.get("version") == version


def _has_occurred(event: EventPlan, old: Image | None, new: Image | None) -> bool:
    match event.change:
        case "created":
            return old is None and new is not None
        case "deleted":
            return new is None
        case "changed":
            return None not in (old, new) and any(
                not _is_same(_read(event, old, name), _read(event, new, name))
                for name in event.watched
            )
        case "became":
            (name,) = event.watched
            return (
                new is not None
                and _is_among(_read(event, new, name), event.values)
                and not (old is not None and _is_among(_read(event, old, name), event.values))
            )


def _read(event: EventPlan, image: Image | None, name: str) -> AttributeValue:
    """A value as a read shows it: the default of one that is absent; nothing for NULL."""
    value = (image or {}).get(name, (event.defaults or {}).get(name, _NOTHING))
    return _NOTHING if "NULL" in value else value


def _is_among(value: AttributeValue, values: Iterable[AttributeValue]) -> bool:
    return any(_is_same(value, each) for each in values)


def _is_same(one: AttributeValue, other: AttributeValue) -> bool:
    if not one or not other:
        return one == other
    return one == other or equal_images({"": one}, {"": other})
