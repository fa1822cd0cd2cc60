"""The types of problems (RFC 9457): the meaning of each, and the remedy for the caller.

A problem's ``type`` is the address of its page, so that a caller can look it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from http import HTTPStatus

from daicho.runtime.frozen_dataclasses import dataclass

PATH = "/problems"
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}


def get_phrase(status: int) -> str:
    """A status in the words of RFC 9110, in every version of Python."""
    return _TITLES.get(status) or HTTPStatus(status).phrase


@dataclass(frozen=True)
class ProblemType:
    """One type: ``name`` is the end of its address. Texts are in sentences."""

    name: str
    status: int
    means: str
    remedy: str
    named: str = ""

    @property
    def title(self) -> str:
        """The same in all problems of the type: ``named``, or ``name`` in words."""
        return self.named or self.name.replace("-", " ").title() or get_phrase(self.status)

    def render_address(self, server: str) -> str:
        """The address of its page, relative to the server if ``server`` is empty.

        For a status without a type of its own it is ``about:blank``, as RFC 9457 defines.
        """
        return f"{server}{PATH}/{self.name}" if self.name else "about:blank"


TYPES: tuple[ProblemType, ...] = (
    ProblemType(
        "bad-request",
        400,
        "The request cannot be read: its JSON, its encoding, a header, or parameters that "
        "belong to no query of this path.",
        "Correct the request as described in detail. An unchanged repeat fails again.",
    ),
    ProblemType(
        "bad-cursor",
        400,
        "The cursor does not belong to this list. It is of another query or another tenant, or "
        "was not created by the API.",
        "Start without a cursor, and pass each cursor on unchanged.",
    ),
    ProblemType(
        "forbidden",
        403,
        "The token contains no tenant or no subject, the user does not have the required role, or "
        "may read an item but not write it, or names another owner.",
        "Send a token that contains the tenant, for example the ID token of a user. For a role, "
        "ask an administrator.",
    ),
    ProblemType(
        "not-found",
        404,
        "The item does not exist in your tenant or has expired, or the path does not exist.",
        "Check the path and the id. Items of other tenants, and items that you "
        "may not read, are answered like missing items.",
    ),
    ProblemType(
        "method-not-allowed",
        405,
        "The path exists, but does not accept this method.",
        "Use one of the methods in the header Allow.",
    ),
    ProblemType(
        "conflict",
        409,
        "An existing item prevents the change: an item with the same key, or an expired item "
        "with the same key that waits for the archive.",
        "Use another key, or change the existing item.",
    ),
    ProblemType(
        "raced",
        409,
        "Concurrent requests changed the same items. Nothing was written.",
        "Repeat the request after the number of seconds in Retry-After.",
        "Concurrent Change",
    ),
    ProblemType(
        "forbidden-transition",
        409,
        "The item is in a state that may not be followed by the requested one. Nothing was "
        "written.",
        "Use one of the states that detail names, or read the item again: its state may have "
        "changed.",
    ),
    ProblemType(
        "unfinished",
        409,
        "More items refer to the one that was to be deleted than one request deletes with it, and "
        "no job was started for them: one deletes another item of the tenant, say.",
        "Repeat the request after the number of seconds in Retry-After, until it succeeds.",
    ),
    ProblemType(
        "forbidden-change",
        409,
        "A rule does not let the stored item change so, or be deleted. Nothing was written.",
        "Read the item, and change only what its state allows. errors names the field.",
    ),
    ProblemType(
        "referred",
        409,
        "Another item refers to the item that was to be deleted. Nothing was deleted.",
        "Delete the item that detail names, or let it refer to another one.",
    ),
    ProblemType(
        "not-unique",
        409,
        "Another item has the same value in a field, or in several fields together, whose values "
        "are unique. errors names the first of the fields.",
        "Choose another value, or find the item that has it by a query of the collection.",
    ),
    ProblemType(
        "unreadable",
        409,
        "The stored item or figure is not as this API writes it: something else has changed it, or "
        "a migration of its fields fails. errors names the attribute. Lists and searches leave "
        "such an item out, and name it in unreadable.",
        "Replace the item by PUT, or remove it by DELETE. If you may do neither, ask the operator "
        "of the API.",
        "Unreadable Item",
    ),
    ProblemType(
        "tenant-closed",
        410,
        "An administrator deleted the tenant. Its data is removed, or is being removed.",
        "The deletion is final. GET /jobs/{id} shows its progress to an administrator.",
    ),
    ProblemType(
        "precondition-failed",
        412,
        "The item does not have the version in If-Match. Or the item exists, and the request "
        "has If-None-Match: *.",
        "Read the item again and decide with its current content.",
    ),
    ProblemType(
        "content-too-large",
        413,
        "The body exceeds the limit.",
        "Send a smaller body. The detail contains the limit in bytes.",
    ),
    ProblemType(
        "unsupported-media-type",
        415,
        "The body does not have a media type that the API reads.",
        "Send application/json.",
    ),
    ProblemType(
        "invalid",
        422,
        "The request can be read, but a value is not accepted. errors names each field.",
        "Correct the fields in errors.",
        "Unprocessable Content",
    ),
    ProblemType(
        "exceeds-bounds",
        422,
        "The request would read, write or derive more than one request may. The detail names the "
        "limit and its value. Nothing was written, unless the operation writes in several steps.",
        "Ask for a smaller limit or a shorter range, or send less at once. The operator of the "
        "API sets the limits.",
    ),
    ProblemType(
        "reference-not-found",
        422,
        "A field refers to an item that does not exist but is required.",
        "Create that item first, or refer to another item.",
    ),
    ProblemType(
        "idempotency-key-reused",
        422,
        "Another request was made with this Idempotency-Key within 24 hours.",
        "Use a new key for each request. Repeat a request unchanged with its key.",
    ),
    ProblemType(
        "too-many-requests",
        429,
        "DynamoDB throttled the requests for one key. Nothing was written. The gateway limits the "
        "requests of all callers too, and answers 429 without a problem document.",
        "Repeat the request after the number of seconds in Retry-After, and increase the wait "
        "with each repeat.",
    ),
    ProblemType(
        "over-quota",
        429,
        "The tenant has consumed more than it may: requests, read units or write units; or it has "
        "as many items as it may have. errors names the limit. Nothing was read or written.",
        "Repeat the request after the number of seconds in Retry-After, or delete items. GET "
        "/limits shows the limits of the tenant, and what is left of them.",
        "Over Quota",
    ),
    ProblemType(
        "internal-server-error",
        500,
        "The API has a bug. The detail contains the id of the request, which is in the log.",
        "Report the id to the operator of the API.",
    ),
    ProblemType(
        "service-unavailable",
        503,
        "The table did not answer in time. The change was written or was not written.",
        "Repeat the request after the number of seconds in Retry-After. A change with an "
        "Idempotency-Key or with If-Match is applied once.",
    ),
    ProblemType(
        "being-built",
        503,
        "The list or figure was declared or changed recently, and does not include all items yet.",
        "Repeat the request after the number of seconds in Retry-After. The data itself can be "
        "read and written meanwhile.",
    ),
)
_BY_NAME = {kind.name: kind for kind in TYPES}
_BY_STATUS = {kind.status: kind for kind in reversed(TYPES)}


def find_type(status: int, name: str = "") -> ProblemType:
    """The type of that name; without a name the type of the status, or a blank type."""
    return _BY_NAME[name] if name else _BY_STATUS.get(status) or ProblemType("", status, "", "")


def render_page(name: str | None = None) -> str | None:
    """The page of one type, or of all types; None if no type has that name."""
    chosen = TYPES if name is None else tuple(kind for kind in TYPES if kind.name == name)
    return _render_html(chosen) if chosen else None


def _render_html(chosen: Iterable[ProblemType]) -> str:
    sections = "\n".join(
        f'<section id="{kind.name}"><h2>{escape(kind.title)}</h2>'
        f"<p><code>{PATH}/{kind.name}</code> · status {kind.status}</p>"
        f"<p>{escape(kind.means)}</p><p><b>What to do.</b> {escape(kind.remedy)}</p></section>"
        for kind in chosen
    )
    style = "body{font:16px/1.5 sans-serif;max-width:42em;margin:2em auto;padding:0 1em}"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Problems</title>"
        f"<style>{style}</style><h1>Problems</h1>"
        "<p>An error of the API is a problem document (RFC 9457). Its <code>type</code> is the "
        "address of a description on this page. What the gateway answers itself is no problem "
        "document: a request without a valid token (401), too many requests (429), and a function "
        "that does not answer (503).</p>"
        f"\n{sections}\n</html>\n"
    )
