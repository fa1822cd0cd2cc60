"""Which records belong into an archive chain."""

from __future__ import annotations

from daicho.archive import chain as chains
from daicho.stream.records import StreamRecord
from tests.support.memory_archive import build_expired_batch
from tests.support.sample_ledger import LEDGER


def test_only_what_expired_and_is_to_be_kept_is_archived() -> None:
    (expired,) = build_expired_batch(1).records
    (song,) = build_expired_batch(1, type={"S": "Song"}, gen={"N": "1"}).records
    deleted = StreamRecord(**{**vars(expired), "expired": False})
    assert chains.is_archived(expired, LEDGER)
    assert not chains.is_archived(deleted, LEDGER)
    assert not chains.is_archived(song, LEDGER)
