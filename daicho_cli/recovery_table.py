"""The second table of a restore: what point-in-time recovery restores to, or a local copy."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from daicho.layout.backfill_state import RECORDED_KEY
from daicho.plan import Ledger
from daicho.release.states import read_recorded_states
from daicho.runtime.retry import make_mapper
from daicho.storage.requests import Scan
from daicho.storage.table import MAX_BATCH_WRITES, Table
from daicho_cli.terminal import CommandError, OptionError

POLL_S, STREAM_POLL_S, COPY_THREADS = 15.0, 2.0, 8
INDEXES = ("GSI1", "GSI2", "GSI3")
KEY = [
    {"AttributeName": "PK", "KeyType": "HASH"},
    {"AttributeName": "SK", "KeyType": "RANGE"},
]


@dataclass(frozen=True)
class RecoveryTable:
    """Restores a second table from another one. ``dynamodb`` is boto3's client."""

    dynamodb: Any
    source: str
    sleep: Callable[[float], None] = time.sleep

    def check_moment(self, at: dt.datetime) -> None:
        """Check that the table can be restored to a moment.

        Raises:
            CommandError: it cannot. The message gives the reason.
        """
        answer = self.dynamodb.describe_continuous_backups(TableName=self.source)
        described = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
        if described.get("PointInTimeRecoveryStatus") != "ENABLED":
            raise CommandError(
                f"{self.source} has no point-in-time recovery, so no earlier moment of it is kept: "
                "name a copy with --from-table"
            )
        first = described["EarliestRestorableDateTime"].astimezone(dt.UTC)
        last = described["LatestRestorableDateTime"].astimezone(dt.UTC)
        if not first <= at <= last:
            raise CommandError(
                f"--to {_render(at)}: {self.source} can be restored to a moment from "
                f"{_render(first)} to {_render(last)}"
            )

    def name_copy(self, at: dt.datetime) -> str:
        """The name of the second table: the same for the same moment, so that a run can resume."""
        return f"{self.source}-at-{at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"

    def restore(self, at: dt.datetime, on_wait: Callable[[str], None]) -> str:
        """Restore the second table, or continue to wait for a restore; returns its name.

        It has no index, stream and TTL. ``on_wait`` gets the state of the table again and again.

        Raises:
            CommandError: DynamoDB has ended the restore.
            ClientError: AWS refuses.
        """
        name = self.name_copy(at)
        if self._describe(name) is None:
            try:
                self.dynamodb.restore_table_to_point_in_time(
                    SourceTableName=self.source,
                    TargetTableName=name,
                    RestoreDateTime=at,
                    BillingModeOverride="PAY_PER_REQUEST",
                    GlobalSecondaryIndexOverride=[],
                )
            except ClientError as error:
                if error.response["Error"].get("Code") != "LimitExceededException":
                    raise
                raise CommandError(
                    f"the account has no room for {name} ({error}): delete a table, wait for "
                    "another restore, or ask for a higher quota"
                ) from error
        while (described := self._describe(name) or {}).get("TableStatus") != "ACTIVE":
            if not described or described["TableStatus"] not in ("CREATING", "UPDATING"):
                raise CommandError(f"{name} is {described.get('TableStatus', 'gone')}")
            on_wait(f"{name} is being restored")
            self.sleep(POLL_S)
        return name

    def check_copy(self, name: str, copy: Table, store: Table, at: dt.datetime) -> None:
        """Check that a table is a copy of this one, of that moment as far as DynamoDB knows.

        Raises:
            CommandError: it is another table.
            StoreError: it cannot be read.
        """
        described = self._describe(name)
        if described is None or name == self.source:
            raise CommandError(f"--from-table {name}: there is no such table next to {self.source}")
        restored = described.get("RestoreSummary", {})
        arn = restored.get("SourceTableArn")
        if arn is not None and arn.rpartition("/")[2] != self.source:
            raise CommandError(f"{name} was restored from {arn}, not from {self.source}")
        moment = restored.get("RestoreDateTime")
        if moment is not None and abs((moment - at).total_seconds()) >= 1:
            raise CommandError(f"{name} is of {_render(moment)}: name that moment with --to")
        if described["KeySchema"] != KEY or copy.get(RECORDED_KEY) is None:
            raise CommandError(f"{name} is no copy of a table of this project")
        entities = read_recorded_states(copy).states.keys()
        if unknown := entities - read_recorded_states(store).states.keys():
            names = ", ".join(sorted(unknown))
            raise CommandError(f"{name} is of another project: {self.source} has no {names}")

    def check_restored(self, name: str, at: dt.datetime | None) -> dt.datetime:
        """Check that a table can take the place of this one; returns the moment that it is of.

        ``at``: that moment, if somebody has named it.

        Raises:
            CommandError: it cannot. The message gives the reason.
        """
        described = self._describe(name)
        if described is None:
            raise CommandError(f"there is no table {name}: restore one first")
        summary = described.get("RestoreSummary", {})
        indexes = {each["IndexName"]: each for each in described.get("GlobalSecondaryIndexes", ())}
        states = {
            described["TableStatus"],
            *(each.get("IndexStatus", "ACTIVE") for each in indexes.values()),
        }
        if states != {"ACTIVE"} or summary.get("RestoreInProgress"):
            raise CommandError(f"{name} is not complete yet: run it again later")
        if described["KeySchema"] != KEY or not indexes.keys() >= {*INDEXES}:
            needed = ", ".join(INDEXES)
            raise CommandError(f"{name} has not the keys and indexes of a stage ({needed})")
        ttl = self.dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        if ttl.get("TimeToLiveStatus", "DISABLED") != "DISABLED":
            raise CommandError(
                f"{name} removes expired items: disable its TTL until it is recovered"
            )
        return self.find_moment(name, at)

    def find_moment(self, name: str, at: dt.datetime | None) -> dt.datetime:
        """The moment that a second table is of. ``at``: that moment, if somebody has named it.

        Raises:
            CommandError: nobody knows it, or DynamoDB knows another one.
        """
        summary = (self._describe(name) or {}).get("RestoreSummary", {})
        moment: dt.datetime | None = summary.get("RestoreDateTime")
        if moment is None and at is None:
            raise OptionError(f"DynamoDB knows no moment of {name}: name it with --at")
        if moment and at and abs((moment - at).total_seconds()) >= 1:
            raise CommandError(
                f"{name} is of {_render(moment)}: name that moment with --at, or none"
            )
        return at or moment  # type: ignore[return-value]  # one of them is known

    def open_stream(self, name: str) -> str:
        """Give a table a stream, if it has none; returns its ARN.

        Raises:
            CommandError: it has another kind of stream.
            ClientError: AWS refuses.
        """
        described = self._describe(name) or {}
        enabled = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
        specified = described.get("StreamSpecification", {})
        if not specified.get("StreamEnabled"):
            self.dynamodb.update_table(TableName=name, StreamSpecification=enabled)
        elif specified != enabled:
            raise CommandError(f"{name} has a stream without old and new images: disable it")
        while described.get("TableStatus") != "ACTIVE" or "LatestStreamArn" not in described:
            self.sleep(STREAM_POLL_S)
            described = self._describe(name) or {}
        return str(described["LatestStreamArn"])

    def protect(self, name: str) -> None:
        """Protect a table as a stage in production protects its own.

        Raises:
            ClientError: AWS refuses.
        """
        self.dynamodb.update_continuous_backups(
            TableName=name,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
        )
        self.dynamodb.update_table(TableName=name, DeletionProtectionEnabled=True)

    def expire_items(self, name: str) -> bool:
        """Let DynamoDB remove expired items of a table again; whether it did not before.

        Raises:
            ClientError: AWS refuses.
        """
        ttl = self.dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        if ttl.get("TimeToLiveStatus", "DISABLED") != "DISABLED":
            return False
        specification = {"Enabled": True, "AttributeName": "ttl"}
        self.dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=specification)
        return True

    def delete(self, name: str) -> None:
        """Delete a second table.

        Raises:
            ClientError: AWS refuses.
        """
        self.dynamodb.delete_table(TableName=name)

    def copy_items(self, name: str, store: Table, open_copy: Callable[[str], Table]) -> int:
        """Make a table with the items that the table has now; returns how many. Only locally.

        Raises:
            CommandError: the table exists already.
        """
        if self._describe(name) is not None:
            raise CommandError(f"{name} exists already")
        source = self._describe(self.source) or {}
        indexes = [
            {part: index[part] for part in ("IndexName", "KeySchema", "Projection")}
            for index in source["GlobalSecondaryIndexes"]
        ]
        self.dynamodb.create_table(
            TableName=name,
            KeySchema=KEY,
            AttributeDefinitions=source["AttributeDefinitions"],
            GlobalSecondaryIndexes=indexes,
            BillingMode="PAY_PER_REQUEST",
        )
        self.dynamodb.get_waiter("table_exists").wait(TableName=name)
        copy, count, start, map_all = open_copy(name), 0, None, make_mapper(COPY_THREADS)
        while True:
            page = store.scan(Scan(start=start, consistent=True))
            begins = range(0, len(page.items), MAX_BATCH_WRITES)
            batches = [page.items[begin : begin + MAX_BATCH_WRITES] for begin in begins]
            list(map_all(copy.batch_write, batches))
            count, start = count + page.count, page.last
            if start is None:
                return count

    def _describe(self, name: str) -> dict[str, Any] | None:
        try:
            described: dict[str, Any] = self.dynamodb.describe_table(TableName=name)["Table"]
        except ClientError as error:
            if error.response["Error"].get("Code") == "ResourceNotFoundException":
                return None
            raise
        return described


def check_ledger(ledger: Ledger, entity: str | None) -> tuple[str, ...]:
    """The entities that are restored: one, or all that have items.

    Raises:
        CommandError: there is no such entity.
    """
    if entity is None:
        return ledger.list_types()
    if entity not in ledger.list_types():
        choices = ", ".join(sorted(ledger.list_types()))
        raise CommandError(f"no entity is called {entity}; there are {choices}")
    return (entity,)


def _render(moment: dt.datetime) -> str:
    return f"{moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"
