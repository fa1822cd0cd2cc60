"""``?minutes=``: only items that are no older, by the instant that orders the list."""

from __future__ import annotations

import datetime as dt
from typing import Any, get_args

from annotated_types import Ge, Le

from daicho.declare.domain import Window
from daicho.declare.entity import E
from daicho.declare.queries import ListQuery
from daicho.errors import DeclarationError
from daicho.web.http.operation import Call, Parameter
from daicho.web.routes import list_options
from daicho.web.schema.wire_types import add_limits, to_text_type

MAX_UNITS = dt.timedelta(days=3_660)


def build_parameter(window: Window) -> Parameter:
    """The parameter with the number of the window's units."""
    most = MAX_UNITS // dt.timedelta(**{window: 1})
    annotation = add_limits(to_text_type(int), [Ge(1), Le(most)])
    return Parameter(window, annotation, f"Only items of the last {window}, by number.")


def check_window(owner: Any, mode: str, path: str, window: Window) -> None:
    """Refuse a window over a list that is not ordered by an instant.

    Raises:
        DeclarationError: the list is not, or the window has another unit.
    """
    if window not in get_args(Window):
        units = " or ".join(get_args(Window))
        raise DeclarationError(
            f'{path}: a window is in {units}, not {window!r}; write window="minutes"'
        )
    if mode == "under" or list_options.find_kind(owner, mode) != "datetime":
        raise DeclarationError(
            f"{path}: {owner.declaration} is not ordered by an instant; declare "
            "Listing(..., order=at) with a dt.datetime first, or leave window= out"
        )


def limit_to_window(call: Call, window: Window, query: ListQuery[E]) -> ListQuery[E]:
    """The query, limited to the last minutes, hours or days if the request has their number."""
    number: int | None = call.values.get(window)
    return query if number is None else query.last(dt.timedelta(**{window: number}))
