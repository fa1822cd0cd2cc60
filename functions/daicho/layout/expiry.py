"""The ``ttl`` of items, and of those whose entity got another retention. Pure.

An item has the ``ttl`` of the generation that wrote it last. Code of a newer generation, and the
touch of a rebuild, give it the ``ttl`` of theirs, computed from the same image.
"""

from __future__ import annotations

import datetime as dt

from daicho.layout.item_keys import meets_condition
from daicho.layout.marks import RESTORED_MARK, RestoredMark
from daicho.plan import EntityPlan, Ledger
from daicho.plan.expiry import CHANGED_AT, CREATED_AT, is_same_retention
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image

MAX_AGE_S = 4 * 365 * 86_400
"""How long ago a stored ``ttl`` is at most when it is written, in seconds. DynamoDB never deletes
an item whose ``ttl`` is more than five years past.

Source: "Using time to live (TTL) in DynamoDB", AWS documentation.
"""

EXPIRY = ("ttl", CHANGED_AT)
"""The attributes of a base item that `build_expiry` returns."""
ORIGIN = (CREATED_AT, RESTORED_MARK)
"""The attributes that a write of an item keeps, and that its expiry may count from."""


def find_retention_start(ledger: Ledger, entity: str, generation: int) -> int:
    """The first generation since which items live as long as in ``generation``.

    Items of earlier generations may have another ``ttl``.
    """
    expires = ledger.find_plan(entity, generation).expires
    start = generation
    for each in reversed(ledger.list_generations(entity)):
        if each.number > generation:
            continue
        if not is_same_retention(each.plan.expires, expires):
            break
        start = each.number
    return start


def has_older_retention(ledger: Ledger, entity: str, image: Image, generation: int) -> bool:
    """Whether an image may have another ``ttl`` than an image of ``generation``."""
    own = attributes.get_integer(image, "gen") or 0
    return own < find_retention_start(ledger, entity, generation)


def compute_ttl(plan: EntityPlan, image: Image, now: dt.datetime) -> AttributeValue | None:
    """The ``ttl`` that a plan gives an item; None if it does not expire.

    It counts from the instant that the plan declares, or from the restore of an item from the
    archive if that was later. A day begins at 00:00 UTC. ``now``: the time of the write.

    Raises:
        UnderivableError, ValueError: a field of the image has another type than the plan declares.
    """
    expires = plan.expires
    if expires is None or not meets_condition(plan, expires.where, image):
        return None
    begin = attributes.get_text(image, expires.of)
    if begin is None:
        return None
    start, mark = _to_epoch(begin), RestoredMark.from_image(image)
    if mark is not None:
        start = max(start, _to_epoch(mark.at))
    return attributes.to_value(max(start + expires.seconds, int(now.timestamp()) - MAX_AGE_S))


def build_expiry(plan: EntityPlan, image: Image, changed: dt.datetime) -> dict[str, AttributeValue]:
    """The attributes for the expiry of an item that is written at ``changed``: `EXPIRY`.

    Raises:
        UnderivableError, ValueError: see `compute_ttl`.
    """
    if plan.expires is None:
        return {}
    stamp: dict[str, AttributeValue] = {}
    if plan.expires.counts_from_change:
        stamp[CHANGED_AT] = {"S": keys.render_instant(changed)}
    ttl = compute_ttl(plan, {**image, **stamp}, changed)
    return stamp if ttl is None else {**stamp, "ttl": ttl}


def build_touched_expiry(
    ledger: Ledger, image: Image, new: Image, plan: EntityPlan, now: dt.datetime
) -> dict[str, AttributeValue]:
    """The attributes for the expiry of an item after a touch at ``now``.

    The time of the last change of an item is unknown if the generation that wrote it does not keep
    it. Then the touch counts as a change, so that no item expires too early.

    Args:
        ledger: the ledger with the plan of ``image``.
        image: the item as it was read.
        new: the same item with migrated fields.
        plan: that of the new generation.
        now: the time of the touch.

    Raises:
        UnderivableError, ValueError: see `compute_ttl`.
    """
    expiry = build_expiry(plan, new, now)
    if CHANGED_AT in expiry and CHANGED_AT in image and _keeps_changes(ledger, image):
        kept = {CHANGED_AT: image[CHANGED_AT]}
        ttl = compute_ttl(plan, {**new, **kept}, now)
        return kept if ttl is None else {**kept, "ttl": ttl}
    return expiry


def _keeps_changes(ledger: Ledger, image: Image) -> bool:
    """Whether the generation of an image keeps the time of the last change."""
    own = attributes.get_integer(image, "gen") or 0
    generations = ledger.list_generations(image["type"]["S"])
    plan = next((each.plan for each in generations if each.number == own), None)
    return plan is not None and plan.expires is not None and plan.expires.counts_from_change


def _to_epoch(text: str) -> int:
    """An instant, or the start of a day in UTC, in epoch seconds."""
    moment = dt.datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp())
