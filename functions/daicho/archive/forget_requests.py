"""Marks of tenants that are forgotten, one a tenant. Pure.

A mark records which rows are to be removed, and keeps late ones out of the archive (EXACTNESS
rule 22). While work is left, it records when that work is due. A *pass* goes through the archive
once, in several steps. The mark holds its state too.

Each write to a mark has the condition that the mark is of the same request, or of the same pass. So
a writer changes nothing after a newer request, or after another writer has finished that pass.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from daicho.layout.retention import STREAM_SAFETY_WINDOW
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import Update, build_change

FORGOTTEN = keys.render("", "forgotten")
"""The partition that holds the marks."""
SETTLE_PERIOD = STREAM_SAFETY_WINDOW
"""After this time no deletion reaches the archive: the stream's 24 hours, with a margin."""
_INSTANTS = ("asked", "until", "again", "clean", "began", "ripe")
_PASS_ATTRIBUTES = ("began", "cursor", "ripe", "broken")


@dataclass(frozen=True)
class ForgetPass:
    """A pass that started at ``began`` and is not finished.

    ``cursor``: the last object. ``ripe``: when the objects that it has skipped so far are old
    enough. ``broken``: some objects could not be read.
    """

    began: dt.datetime
    cursor: str = ""
    ripe: dt.datetime | None = None
    broken: bool = False


@dataclass(frozen=True)
class ForgetRequest:
    """The request to forget a tenant.

    ``requested_at``: the time of the last request (the mark's attribute ``asked``).
    ``until``: rows that were deleted up to then are to be removed. ``again``: when more work is
    due; None if none is left. ``clean``: no object that is older than that holds the tenant's rows.
    """

    tenant: str
    requested_at: dt.datetime
    until: dt.datetime
    again: dt.datetime | None = None
    clean: dt.datetime | None = None
    current_pass: ForgetPass | None = None

    @classmethod
    def from_item(cls, item: Image) -> ForgetRequest:
        """Read a tenant's mark."""
        (tenant,) = keys.parse(item["SK"]["S"])
        at = {
            name: dt.datetime.fromisoformat(item[name]["S"]) for name in _INSTANTS if name in item
        }
        current_pass = None
        if began := at.get("began"):
            cursor, broken = attributes.get_text(item, "cursor") or "", "broken" in item
            current_pass = ForgetPass(began, cursor, at.get("ripe"), broken)
        return cls(tenant, at["asked"], at["until"], at.get("again"), at.get("clean"), current_pass)

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
    removed = dict.fromkeys(("clean", *_PASS_ATTRIBUTES))
    changes = {"asked": now, "until": now, "again": again, **removed}
    condition = "attribute_not_exists(#asked) OR #asked < :asked"
    return build_change(build_request_key(tenant), changes, condition)


def start_pass_update(request: ForgetRequest, now: dt.datetime) -> Update:
    """Continue the current pass, or begin one, if the tenant is due."""
    key = build_request_key(request.tenant)
    names = {f"#{name}": name for name in ("began", "asked", "again")}
    values = attributes.to_image({":now": now, ":asked": request.requested_at})
    change = "SET #began = if_not_exists(#began, :now)"
    return Update(key, change, "#asked = :asked AND #again <= :now", names, values)


def save_pass_update(request: ForgetRequest, forget_pass: ForgetPass) -> Update:
    """Record the progress of a forget_pass."""
    changes = {
        "cursor": forget_pass.cursor,
        "ripe": forget_pass.ripe,
        "broken": forget_pass.broken or None,
    }
    return _change_pass(request, forget_pass, changes)


def finish_pass_update(
    request: ForgetRequest, forget_pass: ForgetPass, again: dt.datetime | None, clean: dt.datetime
) -> Update:
    """End a pass. ``again``: when the next one is due. Sets ``clean`` if nothing is broken."""
    changes: dict[str, Any] = {"again": again, **dict.fromkeys(_PASS_ATTRIBUTES)}
    if not forget_pass.broken:
        changes["clean"] = clean
    return _change_pass(request, forget_pass, changes)


def settle_update(request: ForgetRequest) -> Update:
    """Record the result of a run without a pass: ``until``, ``again`` and ``clean``."""
    changes: dict[str, Any] = {"until": request.until, "again": request.again}
    if request.clean is not None:
        changes["clean"] = request.clean
    compared = {"asked": request.requested_at}
    return build_change(build_request_key(request.tenant), changes, "#asked = :asked", compared)


def _change_pass(
    request: ForgetRequest, forget_pass: ForgetPass, changes: dict[str, Any]
) -> Update:
    """Change the mark of a request, if it is still of this request and this pass."""
    compared = {"asked": request.requested_at, "began": forget_pass.began}
    condition = "#asked = :asked AND #began = :began"
    return build_change(build_request_key(request.tenant), changes, condition, compared)
