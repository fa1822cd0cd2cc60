"""The bytes of an archive object."""

from __future__ import annotations

from daicho.archive.object_format import pack
from daicho.archive.row_format import Row
from tests.support.memory_archive import batch
from tests.support.sample_ledger import LEDGER


def test_the_same_records_give_the_same_bytes() -> None:
    first, second = (
        [Row.of(record, LEDGER) for record in batch(*given).records] for given in ((1, 2), (2, 1))
    )
    assert pack(first, "2").body == pack(second, "2").body
