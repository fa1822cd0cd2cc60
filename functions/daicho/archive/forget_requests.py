"""Marks of tenants that are forgotten, one a tenant. Pure.

A mark records which rows are to be removed, and keeps late ones out of the archive (EXACTNESS
rule 22). While work is left, it records when that work is due. A *course* is a run through the
archive that takes several steps. The mark holds its state too.

Each write to a mark names its request, ``asked``, or its course. So a writer changes nothing after
a newer request, or after another writer has finished the same course.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from daicho.layout.retention import STREAM_SAFETY_WINDOW
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Update

FORGOTTEN = keys.render("", "forgotten")
"""The partition that holds the marks."""
SETTLE_PERIOD = STREAM_SAFETY_WINDOW
"""After this time no deletion reaches the archive: the stream's 24 hours, with a margin."""
_MOMENTS = ("asked", "until", "again", "clean", "began", "ripe")
_OF_COURSE = ("began", "cursor", "ripe", "broken")


@dataclass(frozen=True)
class ForgetPass:
    """A run that started at ``began`` and is under way.

    ``cursor``: the last object. ``ripe``: when the objects that it has skipped so far are old
    enough. ``broken``: some objects could not be read.
    """

    began: dt.datetime
    cursor: str = ""
    ripe: dt.datetime | None = None
    broken: bool = False


@dataclass(frozen=True)
class ForgetRequest:
    """The request to forget a tenant. ``asked``: the time of the last request.

    ``until``: rows that were deleted up to then are to be removed. ``again``: when more work is
    due; None if none is left. ``clean``: no object that is older than that holds the tenant's rows.
    """

    tenant: str
    asked: dt.datetime
    until: dt.datetime
    again: dt.datetime | None = None
    clean: dt.datetime | None = None
    course: ForgetPass | None = None

    @classmethod
    def from_item(cls, item: Image) -> ForgetRequest:
        """Read a tenant's mark."""
        (tenant,) = keys.parse(item["SK"]["S"])
        at = {name: dt.datetime.fromisoformat(item[name]["S"]) for name in _MOMENTS if name in item}
        course = None
        if began := at.get("began"):
            cursor, broken = attributes.get_text(item, "cursor") or "", "broken" in item
            course = ForgetPass(began, cursor, at.get("ripe"), broken)
        return cls(tenant, at["asked"], at["until"], at.get("again"), at.get("clean"), course)

    def is_due(self, now: dt.datetime) -> bool:
        """Whether the remaining work is due."""
        return self.again is not None and self.again <= now


def build_request_key(tenant: str) -> ItemKey:
    """The key of a tenant's mark."""
    return ItemKey(FORGOTTEN, keys.render(tenant))


def is_forgotten(mark: Image | None, deleted_at: dt.datetime) -> bool:
    """Whether a row that was deleted at that time is to be forgotten."""
    until = attributes.get_text(mark, "until") if mark else None
    return until is not None and keys.render_instant(deleted_at) <= until


def request_update(tenant: str, now: dt.datetime, again: dt.datetime) -> Update:
    """Request that a tenant's deletions up to ``now`` be forgotten, unless a newer request exists.

    The work continues at ``again``. ``clean`` is reset, as it was true of older deletions only.
    """
    gone = dict.fromkeys(("clean", *_OF_COURSE))
    changes = {"asked": now, "until": now, "again": again, **gone}
    return _build_update(tenant, changes, "attribute_not_exists(#asked) OR #asked < :asked")


def start_pass_update(mark: ForgetRequest, now: dt.datetime) -> Update:
    """Continue a course that was begun, or begin one, if the tenant is due."""
    key = build_request_key(mark.tenant)
    names = {f"#{name}": name for name in ("began", "asked", "again")}
    values = attributes.to_image({":now": now, ":asked": mark.asked})
    change = "SET #began = if_not_exists(#began, :now)"
    return Update(key, change, "#asked = :asked AND #again <= :now", names, values)


def save_pass_update(mark: ForgetRequest, course: ForgetPass) -> Update:
    """Record the progress of a course."""
    changes = {"cursor": course.cursor, "ripe": course.ripe, "broken": course.broken or None}
    return _build_update(mark.tenant, changes, *_pass_values(mark, course))


def finish_pass_update(
    mark: ForgetRequest, course: ForgetPass, again: dt.datetime | None, clean: dt.datetime
) -> Update:
    """End a course. ``again``: when the next one is due. Sets ``clean`` if nothing is broken."""
    changes: dict[str, Any] = {"again": again, **dict.fromkeys(_OF_COURSE)}
    if not course.broken:
        changes["clean"] = clean
    return _build_update(mark.tenant, changes, *_pass_values(mark, course))


def settle_update(mark: ForgetRequest) -> Update:
    """Record the result of a run without a course: ``until``, ``again`` and ``clean``."""
    changes: dict[str, Any] = {"until": mark.until, "again": mark.again}
    if mark.clean is not None:
        changes["clean"] = mark.clean
    return _build_update(mark.tenant, changes, "#asked = :asked", {"asked": mark.asked})


def _pass_values(mark: ForgetRequest, course: ForgetPass) -> tuple[str, dict[str, Any]]:
    return "#asked = :asked AND #began = :began", {"asked": mark.asked, "began": course.began}


def _build_update(
    tenant: str, changes: dict[str, Any], condition: str, compared: dict[str, Any] | None = None
) -> Update:
    """Set attributes, or remove those that are None."""
    sets = [f"#{name} = :{name}" for name, value in changes.items() if value is not None]
    removes = [f"#{name}" for name, value in changes.items() if value is None]
    update = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(removes)}" if removes else "")
    given = {**changes, **(compared or {})}
    names = {f"#{name}": name for name in given}
    values = attributes.to_image(
        {f":{n}": value for n, value in given.items() if value is not None}
    )
    return Update(build_request_key(tenant), update, condition, names, values)
