"""The records of handled events: Powertools' idempotency, on the library's table.

Powertools decides when a function runs, and this module where its records are: in the partitions of
their tenants, so that a tenant's deletion removes them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from aws_lambda_powertools.utilities.idempotency import BasePersistenceLayer
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import (
    STATUS_CONSTANTS,
    DataRecord,
)

from daicho.errors import ConditionFailedError
from daicho.layout.event_records import KEPT_SECONDS
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.requests import to_key_image
from daicho.storage.table import Table

BEGUN = STATUS_CONSTANTS["INPROGRESS"]
_NAMES = {"#ttl": "ttl", "#state": "state", "#until": "until"}
_FREE = "attribute_not_exists(PK) OR #ttl <= :now OR #state = :begun AND #until <= :ms"


class EventRecord(BasePersistenceLayer):
    """The record of one event and one subscriber, at ``key``.

    ``seconds``: how long the invocation may still take. Afterwards, another one may begin with the
    event, whatever became of this one.
    """

    def __init__(
        self, table: Table, key: ItemKey, now: Callable[[], dt.datetime], seconds: float
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Powertools has no type for it
        self._table, self._key, self._now, self._seconds = table, key, now, seconds
        self._until = ""

    def _put_record(self, data_record: DataRecord) -> None:
        now = self._now().timestamp()
        self._until = str(int((now + self._seconds) * 1000))
        values = {":begun": {"S": BEGUN}, ":ms": {"N": str(int(now * 1000))}}
        values[":now"] = {"N": str(int(now))}
        try:
            self._table.put(self._build_image(BEGUN), condition=_FREE, names=_NAMES, values=values)
        except ConditionFailedError as error:
            stored = _read_record(error.item or {}, data_record.idempotency_key)
            raise IdempotencyItemAlreadyExistsError(old_data_record=stored) from error

    def _update_record(self, data_record: DataRecord) -> None:
        self._table.put(self._build_image(data_record.status))

    def _delete_record(self, data_record: DataRecord) -> None:
        """Remove the record of an attempt that failed, unless another one has begun since."""
        with suppress(ConditionFailedError):
            self._table.delete(
                self._key,
                condition="#until = :until",
                names={"#until": "until"},
                values={":until": {"N": self._until}},
            )

    def _get_record(self, idempotency_key: str) -> DataRecord:
        stored = self._table.get(self._key, consistent=True)
        if stored is None:
            raise IdempotencyItemNotFoundError
        return _read_record(stored, idempotency_key)

    def _build_image(self, state: str) -> Image:
        ttl = int(self._now().timestamp()) + KEPT_SECONDS
        return {
            **to_key_image(self._key),
            "state": {"S": state},
            "until": {"N": self._until},
            "ttl": {"N": str(ttl)},
        }


def _read_record(stored: Mapping[str, Any], key: str) -> DataRecord:
    """A stored record, without its times: Powertools would compare them with its own clock."""
    return DataRecord(key, stored.get("state", {}).get("S", BEGUN))
