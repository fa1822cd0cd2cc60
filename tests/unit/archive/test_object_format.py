"""The bytes of an archive object."""

from __future__ import annotations

from daicho.archive.object_format import pack_rows
from daicho.archive.row_format import ArchivedRow
from tests.support.memory_archive import build_expired_batch
from tests.support.sample_ledger import LEDGER


def test_the_same_records_give_the_same_bytes() -> None:
    first, second = (
        [ArchivedRow.from_record(record, LEDGER) for record in build_expired_batch(*given).records]
        for given in ((1, 2), (2, 1))
    )
    assert pack_rows(first, "2").body == pack_rows(second, "2").body
