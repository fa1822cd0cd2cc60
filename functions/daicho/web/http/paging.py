"""The parameters by which every list is read page by page."""

from __future__ import annotations

from annotated_types import Ge, Le

from daicho.web.http.operation import Parameter
from daicho.web.schema.wire_types import in_text, limited

MOST_ITEMS = 100
LIMIT = Parameter(
    "limit",
    limited(in_text(int), [Ge(1), Le(MOST_ITEMS)]),
    "How many items at most.",
    default=MOST_ITEMS,
)
CURSOR = Parameter("cursor", str, "Where the page before ended.")
PAGING = (LIMIT, CURSOR)
