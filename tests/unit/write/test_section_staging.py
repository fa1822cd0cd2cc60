"""Sections that need several batches of writes: by threads, or in order in the calling thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import JsonValue

from daicho.book.book import Book
from daicho.write import section_staging
from tests.delivery.sample_entities import LEDGER, Document
from tests.support.memory_stores import MemoryTable

SECTIONS: dict[str, JsonValue] = {f"section {number:02}": number for number in range(60)}


@pytest.mark.parametrize("parallelism", [1, 3])
def test_all_batches_are_written_by_as_many_threads_as_allowed(
    parallelism: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: list[int] = []

    def open_pool(threads: int) -> ThreadPoolExecutor:
        pools.append(threads)
        return ThreadPoolExecutor(threads)

    monkeypatch.setattr(section_staging, "ThreadPoolExecutor", open_pool)
    book = Book(MemoryTable(), LEDGER, "tenant", parallelism=parallelism)
    book.create(Document(id="1", sections=SECTIONS))
    assert book.get(Document.key("1")).sections == SECTIONS
    assert set(pools) == ({3} if parallelism == 3 else set())
