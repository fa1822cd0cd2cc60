"""A table that ends the process of its user at one of its writes."""

from __future__ import annotations

from typing import Any

from mypy_boto3_dynamodb import DynamoDBClient

from daicho.storage.capacity import CapacityUnits
from daicho.storage.table import Table


class KilledError(BaseException):
    """The process ended."""


class KillingTable(Table):
    """A table whose user is killed at a write: before it, or after it was done."""

    def __init__(
        self, client: DynamoDBClient, name: str, kill_at: int, is_done_first: bool
    ) -> None:
        super().__init__(client, name, CapacityUnits())
        self.kill_at, self.is_done_first, self.writes = kill_at, is_done_first, 0

    def _write(self, method: Any, *given: Any, **named: Any) -> Any:
        self.writes += 1
        if self.writes == self.kill_at and not self.is_done_first:
            raise KilledError
        result = method(*given, **named)
        if self.writes == self.kill_at:
            raise KilledError
        return result

    def put(self, *given: Any, **named: Any) -> Any:
        return self._write(super().put, *given, **named)

    def insert_batch(self, *given: Any, **named: Any) -> Any:
        return self._write(super().insert_batch, *given, **named)

    def update(self, *given: Any, **named: Any) -> Any:
        return self._write(super().update, *given, **named)

    def batch_write(self, *given: Any, **named: Any) -> Any:
        return self._write(super().batch_write, *given, **named)

    def transact(self, *given: Any, **named: Any) -> Any:
        return self._write(super().transact, *given, **named)
