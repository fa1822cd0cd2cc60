"""Marks of tenants that are forgotten, one a tenant. Pure.

A mark says what is to go, and keeps a late row of it out of the archive (EXACTNESS rule 22). As
long as there is more to do it says when. A run through the archive that takes several steps, its
*course*, stands in it too.

Who writes to a mark says which request it is about, ``asked``, or which course: so who was
overtaken by another request, or by another who went the same course, changes nothing.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import ItemKey
from daicho.storage.requests import Update

FORGOTTEN = keys.render("", "forgotten")
"""The partition that holds the marks."""
SETTLE_PERIOD = dt.timedelta(hours=72)
"""After so long no deletion reaches the archive: the stream's 24 hours, with room to spare."""
_MOMENTS = ("asked", "until", "again", "clean", "began", "ripe")
_OF_COURSE = ("began", "cursor", "ripe", "broken")


@dataclass(frozen=True)
class ForgetPass:
    """A run that is under way since ``began``.

    ``cursor``: the last object. What it has left so far is old enough at ``ripe``; ``broken``:
    there were objects that nobody could read.
    """

    began: dt.datetime
    cursor: str = ""
    ripe: dt.datetime | None = None
    broken: bool = False


@dataclass(frozen=True)
class ForgetRequest:
    """A tenant that was to be forgotten when it was last ``asked``.

    What was deleted ``until`` then is to go. ``again``: when there is more to do; None if nothing
    is left. ``clean``: no object that is older than that holds anything of it.
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
        """Whether it is time to go on."""
        return self.again is not None and self.again <= now


def build_request_key(tenant: str) -> ItemKey:
    """Where a tenant's mark stands."""
    return ItemKey(FORGOTTEN, keys.render(tenant))


def is_forgotten(mark: Image | None, deleted_at: dt.datetime) -> bool:
    """Whether what was deleted at that time is to be forgotten."""
    until = attributes.get_text(mark, "until") if mark else None
    return until is not None and keys.render_instant(deleted_at) <= until


def request_update(tenant: str, now: dt.datetime, again: dt.datetime) -> Update:
    """Ask for a tenant to be forgotten, what was deleted up to ``now``; unless another has since.

    Whoever goes on with it does so at ``again``. What was found clean was so of older deletions.
    """
    gone = dict.fromkeys(("clean", *_OF_COURSE))
    changes = {"asked": now, "until": now, "again": again, **gone}
    return _build_update(tenant, changes, "attribute_not_exists(#asked) OR #asked < :asked")


def start_pass_update(mark: ForgetRequest, now: dt.datetime) -> Update:
    """Go on with the course that somebody has begun, or begin one, if the tenant is due."""
    key = build_request_key(mark.tenant)
    names = {f"#{name}": name for name in ("began", "asked", "again")}
    values = attributes.to_image({":now": now, ":asked": mark.asked})
    change = "SET #began = if_not_exists(#began, :now)"
    return Update(key, change, "#asked = :asked AND #again <= :now", names, values)


def save_pass_update(mark: ForgetRequest, course: ForgetPass) -> Update:
    """Write down how far a course has come."""
    changes = {"cursor": course.cursor, "ripe": course.ripe, "broken": course.broken or None}
    return _build_update(mark.tenant, changes, *_pass_values(mark, course))


def finish_pass_update(
    mark: ForgetRequest, course: ForgetPass, again: dt.datetime | None, clean: dt.datetime
) -> Update:
    """End a course; ``again``: when the next one is due. ``clean`` unless something is broken."""
    changes: dict[str, Any] = {"again": again, **dict.fromkeys(_OF_COURSE)}
    if not course.broken:
        changes["clean"] = clean
    return _build_update(mark.tenant, changes, *_pass_values(mark, course))


def settle_update(mark: ForgetRequest) -> Update:
    """Write down what a run has found that had no course: `Mark.until`, ``again`` and ``clean``."""
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
    values = attributes.to_image({f":{n}": each for n, each in given.items() if each is not None})
    return Update(build_request_key(tenant), update, condition, names, values)
