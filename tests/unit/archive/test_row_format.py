"""A row of the archive: written and read back exactly, flagged or refused where it cannot be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daicho.archive.row_format import ArchivedRow, RowError
from tests.support.memory_archive import build_expired_batch
from tests.support.sample_ledger import LEDGER


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{}",
        b'{"tenant": 1}',
        b"\xff",
        b"null",
        pytest.param(b"[" * 100_000, id="deep"),
    ],
)
def test_something_else_is_no_row(line: bytes) -> None:
    with pytest.raises(RowError):
        ArchivedRow.parse(line)


EDITED: list[dict[str, Any]] = [
    {"seq": "1"},
    {"seq": "label#²"},
    {"seq": f"label#{'9' * 5000}"},
    {"deleted_at": "2026-11-21"},
    {"deleted_at": 1},
    {"item": {}},
    {"item": {"PK": {"S": "t"}, "SK": {"N": "1"}}},
    {"item": [1]},
    {"tenant": None},
    {"gen": "1"},
    {"gen": True},
]


@pytest.mark.parametrize("changed", EDITED, ids=str)
def test_a_row_that_was_made_by_hand_is_none(changed: dict[str, Any]) -> None:
    (record,) = build_expired_batch(1).records
    written = json.loads(ArchivedRow.from_record(record, LEDGER).line)
    assert ArchivedRow.parse(json.dumps(written)) == ArchivedRow.from_record(record, LEDGER)
    with pytest.raises(RowError):
        ArchivedRow.parse(json.dumps({**written, **changed}))
