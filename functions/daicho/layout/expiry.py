"""The ``ttl`` of items whose entity got another retention. Pure.

An item has the ``ttl`` of the generation that created it. Code of a newer generation, and the touch
of a rebuild, give it the ``ttl`` of theirs, counted from the same moment.
"""

from __future__ import annotations

import datetime as dt

from daicho.layout.restorations import RestoredMark
from daicho.plan import EntityPlan, Ledger
from daicho.storage import attributes
from daicho.storage.attributes import AttributeValue, Image


def find_retention_start(ledger: Ledger, entity: str, generation: int) -> int:
    """The first generation since which items live as long as in ``generation``.

    Items of earlier generations may have another ``ttl``.
    """
    seconds = _get_seconds(ledger.find_plan(entity, generation))
    start = generation
    for each in reversed(ledger.list_generations(entity)):
        if each.number > generation:
            continue
        if _get_seconds(each.plan) != seconds:
            break
        start = each.number
    return start


def has_older_retention(ledger: Ledger, entity: str, image: Image, generation: int) -> bool:
    """Whether an image may have another ``ttl`` than an image of ``generation``."""
    own = attributes.get_integer(image, "gen") or 0
    return own < find_retention_start(ledger, entity, generation)


def compute_ttl(plan: EntityPlan, image: Image) -> AttributeValue | None:
    """The ``ttl`` that a plan gives a stored item; None for no expiry.

    It counts from the creation, or from the restore of an item that came from the archive.
    """
    seconds = _get_seconds(plan)
    if seconds is None:
        return None
    mark = RestoredMark.from_image(image)
    begin = (attributes.get_text(image, "created_at") or "") if mark is None else mark.at
    return attributes.to_value(int(dt.datetime.fromisoformat(begin).timestamp()) + seconds)


def _get_seconds(plan: EntityPlan) -> int | None:
    return None if plan.expires is None else plan.expires.seconds
