"""The types of problems (RFC 9457): the meaning of each, and the remedy for the caller.

A problem's ``type`` is the address of its page, so that a caller can look it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from http import HTTPStatus

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
        """The same in all problems of the type: ``named``, or the status in words."""
        return self.named or get_phrase(self.status)

    def render_address(self, server: str) -> str:
        """The address of its page, relative to the server if ``server`` is empty.

        For a status without a type of its own it is ``about:blank``, as RFC 9457 defines.
        """
        return f"{server}{PATH}/{self.name}" if self.name else "about:blank"


TYPES: tuple[ProblemType, ...] = (
    ProblemType(
        "bad-request",
        400,
        "The request cannot be read: JSON, UTF-8, a header, or parameters that belong to no query "
        "of this path.",
        "Correct it as the detail says; sent again as it is, it fails again.",
    ),
    ProblemType(
        "bad-cursor",
        400,
        "The cursor belongs to no page of this list: it is of another query or tenant, or made up.",
        "Begin without a cursor, and hand on what the pages give, unchanged.",
        "Bad Cursor",
    ),
    ProblemType(
        "forbidden",
        403,
        "The token names no tenant, or its user has not the role that this takes.",
        "Send an ID token, not an access token; for a role, ask an administrator.",
    ),
    ProblemType(
        "not-found",
        404,
        "There is no such item of your tenant, or it has expired; or nothing is at this path.",
        "Look at the path and the id. Another tenant's items are not told from none.",
    ),
    ProblemType(
        "method-not-allowed",
        405,
        "The path is there, and does not take this method.",
        "The header Allow lists those that it takes.",
    ),
    ProblemType(
        "conflict",
        409,
        "What stands there forbids it: an item of that key, or one that has expired and waits for "
        "the archive.",
        "Take another key, or change the item that is there.",
    ),
    ProblemType(
        "raced",
        409,
        "Others changed the same items at the same time. Nothing was done.",
        "Send it again after the seconds in Retry-After.",
        "Others Were Faster",
    ),
    ProblemType(
        "tenant-closed",
        410,
        "The tenant was deleted by an administrator: everything of it is gone, or going.",
        "Nothing brings it back. GET /jobs/{id} tells an administrator how far it is.",
        "Tenant Closed",
    ),
    ProblemType(
        "precondition-failed",
        412,
        "The item is not of the version that If-Match names; or it is there, and If-None-Match: * "
        "was sent.",
        "Read it again, and decide anew: somebody has changed it.",
    ),
    ProblemType(
        "content-too-large",
        413,
        "The body is larger than one may be.",
        "Send less: the detail says how many bytes there may be.",
    ),
    ProblemType(
        "unsupported-media-type",
        415,
        "The body is of another type than the API reads.",
        "Send application/json.",
    ),
    ProblemType(
        "invalid",
        422,
        "The request can be read, and a value in it is not admitted. errors names each field.",
        "Correct the fields.",
    ),
    ProblemType(
        "reference-not-found",
        422,
        "A field refers to an item that does not exist, and something of it is needed.",
        "Create that item first, or name another one.",
        "Reference Not Found",
    ),
    ProblemType(
        "idempotency-key-reused",
        422,
        "Another request was made under this Idempotency-Key within a day.",
        "Give each request a key of its own; repeat a request exactly under its key.",
        "Idempotency Key Reused",
    ),
    ProblemType(
        "too-many-requests",
        429,
        "More requests at once than the table takes for one key. Nothing was done.",
        "Send it again after the seconds in Retry-After, later each time.",
    ),
    ProblemType(
        "internal-server-error",
        500,
        "A fault of the API. The detail has the request's id, which is in its log.",
        "Tell whoever runs it, with the id.",
    ),
    ProblemType(
        "service-unavailable",
        503,
        "The table did not answer in time. It may have been done or not.",
        "Send it again after the seconds in Retry-After; a change under an Idempotency-Key, or "
        "with If-Match, is then done once.",
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
        "<p>What the API answers when something is wrong is a problem document (RFC 9457): "
        "<code>type</code> is the address of its description here. A request without a valid token "
        "gets no further than the gateway, whose 401 is no such document.</p>"
        f"\n{sections}\n</html>\n"
    )
