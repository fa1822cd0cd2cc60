"""Answers a request under an Idempotency-Key for a `Book`: once, and from its record after that."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from daicho.errors import UnavailableError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.table import Table
from daicho.write.idempotency import IdempotentRequest, StoredAnswer
from daicho.write.item_writer import ItemWriter


@dataclass(frozen=True)
class RequestRecords:
    """The records of the requests of one tenant."""

    table: Table
    tenant: str
    clock: Callable[[], dt.datetime]
    writer: ItemWriter

    def answer_once(
        self, request: IdempotentRequest, answer: Callable[[], StoredAnswer]
    ) -> StoredAnswer:
        """See `Book.once`."""
        record = request.find_record(self.table, self.tenant, self.clock())
        if record.answer is not None:
            return record.answer
        try:
            with self.writer.transaction() as transaction:
                first_answer = answer()
                transaction.idempotency_record = request.build_writes(
                    record, first_answer, self.clock()
                )
        except UnavailableError:
            # The writes may have succeeded, and only the answer of DynamoDB was lost.
            record = request.find_record(self.table, self.tenant, self.clock())
            if record.answer is None:
                raise
            return record.answer
        return first_answer
