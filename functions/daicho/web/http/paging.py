"""The parameters by which every list is read page by page."""

from __future__ import annotations

from annotated_types import Ge, Le

from daicho.web.http.operation import Parameter
from daicho.web.schema.wire_types import add_limits, to_text_type

MAX_ITEMS = 100
LIMIT = Parameter(
    "limit",
    add_limits(to_text_type(int), [Ge(1), Le(MAX_ITEMS)]),
    "The highest number of items of a page.",
    default=MAX_ITEMS,
)
CURSOR = Parameter("cursor", str, "The cursor of the previous page.")
PAGING = (LIMIT, CURSOR)
