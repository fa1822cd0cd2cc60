"""The expiry of an item, computed from its image without the library."""

from __future__ import annotations

import datetime as dt

from daicho.plan import Condition, EntityPlan
from daicho.storage.attributes import Image

CHANGED_AT, RESTORED = "_changed_at", "_restored"
DAY_FORMAT, INSTANT_FORMAT = "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%fZ"


def compute_right_ttl(plan: EntityPlan, image: Image) -> int | None:
    """The ``ttl`` that an image should have by a plan, in epoch seconds; None for no expiry."""
    rule = plan.expires
    if rule is None or not meets(rule.where, image):
        return None
    starts = [image.get(rule.of, {}).get("S")]
    if starts == [None]:
        return None
    restored = image.get(RESTORED, {}).get("M")
    if restored:
        starts.append(restored["at"]["S"])
    return max(read_epoch(start) for start in starts if start) + rule.seconds


def build_right_ttl(plan: EntityPlan, image: Image) -> Image:
    """The same as an attribute of an image; nothing for no expiry."""
    ttl = compute_right_ttl(plan, image)
    return {} if ttl is None else {"ttl": {"N": str(ttl)}}


def counts_from_change(plan: EntityPlan) -> bool:
    """Whether a plan needs the time of the last change of an item."""
    return plan.expires is not None and plan.expires.of == CHANGED_AT


def meets(where: Condition | None, image: Image) -> bool:
    """Whether a text of an image is one of those of a condition; None takes all."""
    return where is None or image.get(where.field, {}).get("S") in where.one_of


def read_epoch(text: str) -> int:
    """An instant, or the begin of a day in UTC, in whole epoch seconds."""
    form = INSTANT_FORMAT if "T" in text else DAY_FORMAT
    moment = dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC)
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(seconds=1)


def render_instant(moment: dt.datetime) -> str:
    """An instant as an item holds it."""
    return moment.astimezone(dt.UTC).strftime(INSTANT_FORMAT)
