"""Reading a tally live while its total is written."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.errors import UnavailableError
from daicho.storage.attributes import Image, ItemKey
from daicho.tally import total_items
from tests.support.memory_stores import MemoryTable
from tests.support.tally_slots import COUNT, live

TOTAL = total_items.build_total_key(COUNT)


def test_a_total_that_never_stands_still_is_not_read_live() -> None:
    class Restless(MemoryTable):
        def get(self, key: ItemKey, *, consistent: bool = False, **_: Any) -> Image | None:
            self.update(TOTAL, "ADD rev :one", values={":one": {"N": "1"}})
            return super().get(key, consistent=consistent)

    with pytest.raises(UnavailableError, match="moves as often as it is read"):
        live(Restless())
