"""Cursors: where a list goes on, as opaque text that is bound to its question and tenant.

A cursor needs no secret. It carries a digest of tenant, question and place, so that one of another
question, another tenant or with altered text is refused; and whoever computes a digest of their own
reaches nothing by it, because every key that is read is made from the token's tenant and the
question as asked: the cursor says only where in *that* list to go on.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass

from daicho.errors import BadCursor, Invalid
from daicho.storage.keys import SORT_KEY_BYTES

CURSOR_VERSION = 1
"""Raised when the meaning of a cursor changes: older ones are refused, not misread."""
MAX_CURSOR_CHARACTERS = 8192


@dataclass(frozen=True, order=True)
class CursorPosition:
    """The last row that is decided: its order in the list, and which of the merged lists it is of.

    Lists whose rows of one item share their order (GSI2) are told apart by ``order`` alone.
    """

    order: str
    list: int = 0


@dataclass(frozen=True)
class CursorBinding:
    """What a cursor is good for: one tenant's one question."""

    tenant: str
    question: tuple[str, ...]

    def write_cursor(self, position: CursorPosition | None) -> str | None:
        """The cursor that goes on behind ``position``; None stays None: the end."""
        if position is None:
            return None
        content = [CURSOR_VERSION, position.order, position.list, self._digest(position)]
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def read_cursor(self, cursor: str | None) -> CursorPosition | None:
        """Where to go on; None for the beginning.

        Raises:
            BadCursor: not written for this tenant and question, or not written at all.
        """
        if cursor is None:
            return None
        match _decode_cursor(cursor):
            case [int(form), str(order), int(place), str(digest)] if form == CURSOR_VERSION:
                position = CursorPosition(order, place)
                # Rewriting it leaves no second spelling of a cursor, a boolean for 1 included.
                if (
                    _is_valid_order(order)
                    and self._digest(position) == digest
                    and self.write_cursor(position) == cursor
                ):
                    return position
        raise BadCursor

    def _digest(self, position: CursorPosition) -> str:
        bound = json.dumps([self.tenant, self.question, position.order, position.list])
        return hashlib.blake2b(bound.encode(), digest_size=12).hexdigest()


def _is_valid_order(order: str) -> bool:
    """Whether it could be a sort key: whoever makes a digest of their own may say anything."""
    try:
        return 0 < len(order.encode()) <= SORT_KEY_BYTES
    except UnicodeEncodeError:
        return False


def _decode_cursor(cursor: str) -> object:
    if len(cursor) > MAX_CURSOR_CHARACTERS or not cursor.isascii():
        raise BadCursor
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        found: object = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise BadCursor from error
    return found


MAX_PAGE_ITEMS = 100
"""Items of a page, or members of a ranking."""


def check_limit(limit: int) -> None:
    """Refuse a limit that is not 1 to 100: Invalid."""
    if not 1 <= limit <= MAX_PAGE_ITEMS:
        raise Invalid(f"a limit is from 1 to {MAX_PAGE_ITEMS}", field="limit")
