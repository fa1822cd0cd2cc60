"""Cursors: the position of the next page, as opaque text that is bound to a query and a tenant.

A cursor needs no secret. It contains a digest of tenant, query and position. So a cursor of
another query or another tenant, or one with altered text, is refused. A client that computes its
own digest gains no access: every key is made from the tenant of the token and the query of the
request. The cursor only selects a position in *that* list.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple, TypeVar

from daicho.errors import BadCursor, Invalid
from daicho.plan.instances import list_replacing_generations
from daicho.query.instance_chooser import InstanceChooser
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.keys import SORT_KEY_BYTES

CURSOR_VERSION = 1
"""Increased when the meaning of a cursor changes: older cursors are refused, not misread."""
MAX_CURSOR_CHARACTERS = 8192
Answer = TypeVar("Answer")


class CursorPosition(NamedTuple):
    """The last decided row: its order in the list, and the number of its merged list.

    If all rows of one item have the same order (GSI2), ``order`` alone identifies the position.
    """

    order: str
    list: int = 0


@dataclass(frozen=True)
class CursorBinding:
    """The scope of a cursor: certain queries of one tenant, by `ListPlan.query_identity`.

    ``lineage``: see `Access`.
    """

    tenant: str
    query_identity: tuple[str, ...]
    lineage: str = ""

    def write_cursor(self, position: CursorPosition | None) -> str | None:
        """The cursor of the page after ``position``; None at the end, for None."""
        if position is None:
            return None
        content = [CURSOR_VERSION, position.order, position.list, self._digest(position)]
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def read_cursor(self, cursor: str | None) -> CursorPosition | None:
        """The position that a cursor contains; None for the beginning.

        Raises:
            BadCursor: the cursor was not written for this tenant and query, or is no cursor.
        """
        if cursor is None:
            return None
        match _decode_cursor(cursor):
            case [int(form), str(order), int(place), str(digest)] if form == CURSOR_VERSION:
                position = CursorPosition(order, place)
                # The comparison refuses every second spelling of a cursor, such as a boolean for 1.
                if (
                    _is_valid_order(order)
                    and self._digest(position) == digest
                    and self.write_cursor(position) == cursor
                ):
                    return position
        raise BadCursor

    def _digest(self, position: CursorPosition) -> str:
        bound = [self.tenant, self.query_identity, position.order, position.list]
        bound += [self.lineage] if self.lineage else []
        return hashlib.blake2b(json.dumps(bound).encode(), digest_size=12).hexdigest()


def resolve_cursor(
    cursor: str | None,
    bind: Callable[[int | None], tuple[Answer, CursorBinding]],
    instances: InstanceChooser,
    entity: str,
    names: Iterable[str],
) -> tuple[Answer, CursorBinding, CursorPosition | None]:
    """What answers a page, the binding of its cursors, and its first position.

    A cursor may be of instances that retire. Then they answer to the last page. If the instances of
    several declarations retire, some of the newer ones may have answered already.

    Args:
        cursor: of the page; None for the first page.
        bind: what answers without the instances of this generation and later ones, if others are
            complete; None for all instances. With the binding of its cursors.
        instances: chooses the instances of ``entity``.
        entity: the name of the entity.
        names: of the declarations that are queried.

    Raises:
        BadCursor: see `CursorBinding.read_cursor`.
    """
    answer, binding = bind(None)
    try:
        return answer, binding, binding.read_cursor(cursor)
    except BadCursor:
        plan = instances.ledger.current_generation(entity).plan
        replacing = list_replacing_generations(plan, names)
        if not replacing:
            raise

    def read_with(skip_from: int | None) -> tuple[Answer, CursorBinding, CursorPosition | None]:
        chosen, chosen_binding = bind(skip_from)
        return chosen, chosen_binding, chosen_binding.read_cursor(cursor)

    for generation in replacing:
        with suppress(BadCursor):
            return read_with(generation)
    # Another function instance may have learnt earlier that the newer instances are complete.
    instances.forget_state(entity)
    for skip_from in (None, *replacing):
        with suppress(BadCursor):
            return read_with(skip_from)
    raise BadCursor


def _is_valid_order(order: str) -> bool:
    """Whether it could be a sort key: a client with its own digest can send any text."""
    try:
        return 0 < len(order.encode()) <= SORT_KEY_BYTES
    except UnicodeEncodeError:
        return False


def _decode_cursor(cursor: str) -> object:
    if len(cursor) > MAX_CURSOR_CHARACTERS or not cursor.isascii():
        raise BadCursor
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        content: object = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise BadCursor from error
    return content


MAX_PAGE_ITEMS = 100
"""Items of a page, or members of a ranking."""


def check_limit(limit: int) -> None:
    """Refuse a limit that is not 1 to 100: Invalid."""
    if not 1 <= limit <= MAX_PAGE_ITEMS:
        raise Invalid(f"a limit is from 1 to {MAX_PAGE_ITEMS}", field="limit")
