"""Event filters, computed from the plan: which records wake which consumer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

# Lambda's limits on a mapping's filters.
PATTERN_CHARACTERS = 4096
PATTERNS = 5

# No entity has an empty name, so this selects nothing: a plan that declares nothing of the kind
# still gives a valid mapping, and the first declaration changes a filter, not the resources.
NOTHING = ("",)

HEARTBEAT_TYPE = "~heartbeat"
"""The ``type`` of a heartbeat. No entity has such a name."""
HEARTBEAT_ENTITY = "heartbeat"
"""The attribute of a heartbeat that names its entity (rule 28)."""


class FilterError(Exception):
    """The plan needs a filter that Lambda does not accept."""


def project_filters(types: Sequence[str]) -> list[str]:
    """Select every change of an item that derives something, before or after the change.

    Derived items carry no ``type``, so the projector's own writes never wake it. A heartbeat is
    selected only if it is of one of these entities. So its arrival proves that the filter which
    knows the entity is in use (rule 28).
    """
    images = ({"dynamodb": {image: _match_types(types)}} for image in ("NewImage", "OldImage"))
    return _render_patterns([*images, _match_heartbeats(types)])


def archive_filters(
    types: Sequence[str], *, emulated: bool, published: Sequence[str] = ()
) -> list[str]:
    """Select the removals by DynamoDB's own TTL process, and heartbeats, of the archived entities.

    A heartbeat shows that every item which expired before it is archived (rule 33).
    ``published``: entities of which every change is selected, because it may be an event.
    ``emulated``: the local AWS does not record who deleted an item, so its TTL process marks the
    old image.
    """
    old: dict[str, Any] = _match_types(types)
    if emulated:
        marked = {**old, "_ttl_expired": {"N": [{"exists": True}]}}
        removal = {"eventName": ["REMOVE"], "dynamodb": {"OldImage": marked}}
    else:
        by_dynamodb = {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}
        removal = {
            "eventName": ["REMOVE"],
            "userIdentity": by_dynamodb,
            "dynamodb": {"OldImage": old},
        }
    changes = [
        {"dynamodb": {image: _match_types(published)}}
        for image in ("NewImage", "OldImage")
        if published
    ]
    return _render_patterns([removal, _match_heartbeats(types), *changes])


def _match_heartbeats(types: Sequence[str]) -> dict[str, Any]:
    heartbeat = {
        "type": {"S": [HEARTBEAT_TYPE]},
        HEARTBEAT_ENTITY: {"S": list(types or NOTHING)},
    }
    return {"dynamodb": {"NewImage": heartbeat}}


def _match_types(types: Sequence[str]) -> dict[str, Any]:
    return {"type": {"S": list(types or NOTHING)}}


def _render_patterns(patterns: list[dict[str, Any]]) -> list[str]:
    texts = [json.dumps(pattern, separators=(",", ":"), ensure_ascii=False) for pattern in patterns]
    longest = max(len(text) for text in texts)
    if longest > PATTERN_CHARACTERS:
        raise FilterError(
            f"an event filter would be {longest} characters long, and Lambda takes "
            f"{PATTERN_CHARACTERS}: it names every entity that derives or is archived, so "
            "there are too many of them, or their names are too long"
        )
    if len(texts) > PATTERNS:
        raise FilterError(f"{len(texts)} event filters are needed, and Lambda takes {PATTERNS}")
    return texts
