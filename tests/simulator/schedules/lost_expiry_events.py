"""Items expire in gaps of the stream, and are archived from a copy of before (rule 60)."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from daicho.archive.reader import ArchiveReader
from daicho.errors import StoreError, UnavailableError
from daicho.recovery.lost_expirations import SHARD, LostExpirations, find_end
from daicho.restore.move_back import MoveBackError
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.table import Table
from daicho.stream.gap import read_gap
from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB
from daicho.testing.aws.table_stream import TableStream
from daicho.testing.faults.faulty_clients import FaultyDynamoDB
from daicho.testing.faults.processes import SimulatedProcess
from daicho.testing.oracle.stream_history import ExpiredItem, is_base_item, list_expired_items
from daicho.testing.schedules import base_item_writer
from daicho.testing.schedules.event_owner import ScheduleParts
from daicho.testing.stack_settings import ARCHIVE_BUCKET, FAILURE_BUCKET, TABLE
from tests.simulator.schedules.gap_events import SETTLE_S, STEP_S, GapEvents

LOST = "lost expirations"
ARCHIVES = True
"""Whether the items are archived from copies."""
LIFETIMES_S = (20, 60, 60, 300, 40_000)
Life = tuple[ItemKey, str]


class LostExpiryEvents(GapEvents):
    """The events, on one deployment. Nobody deletes an item: it expires, or lives.

    A copy is made when records begin to be lost, or some time before.
    """

    def __init__(self, parts: ScheduleParts) -> None:
        super().__init__(parts)
        self._copy = MemoryDynamoDB(parts.deployment.clock.now)
        self._copied_at = parts.deployment.clock.now()
        self._runs = 0
        self._removed: dict[Life, Image] = {}
        self._archived: dict[Life, Image] = {}
        self._copies: list[dict[Life, Image]] = []

    @contextmanager
    def watch(self) -> Iterator[None]:
        """The oracle expects in the archive what a record or a copy has brought there."""
        expire = self._deployment.dynamodb.expire

        def note_and_expire(key: ItemKey) -> bool:
            image = self._deployment.dynamodb.find(key) or {}
            is_removed = expire(key)
            if is_removed and is_base_item(image):
                self._removed[name_life(image)] = image
            return is_removed

        with (
            super().watch(),
            mock.patch.object(self._deployment.dynamodb, "expire", note_and_expire),
            mock.patch.object(base_item_writer, "list_expired_items", self._list_expected),
        ):
            yield

    def _list_expected(self, stream: TableStream) -> list[ExpiredItem]:
        """What has to be in the archive: each removed life once, if its record or a copy has it."""
        stored = self._read_rows()
        expected = {
            name_life(each.image): each
            for each in list_expired_items(stream)
            if each.row not in self._lost_rows["archive"] or each.row in stored
        }
        begun = {  # by runs that were killed
            life: copied[life]
            for copied in self._copies
            for row, life in stored.items()
            if row.startswith(SHARD) and life in copied and life in self._removed
        }
        for life, image in {**begun, **self._archived}.items():
            expected.setdefault(life, ExpiredItem(image, f"{SHARD}#{life}", 0.0))
        return list(expected.values())

    def _read_rows(self) -> dict[str, Life]:
        """The lives in the archive, by the numbers of their rows."""
        rows = [
            json.loads(line)
            for stored in self._deployment.buckets[ARCHIVE_BUCKET].stored.values()
            for line in gzip.decompress(stored.body).splitlines()
        ]
        return {row["seq"]: name_life(row["item"]) for row in rows}

    def write_instead(self) -> bool:
        """An item is created or changed. Most of those that have expired are removed first."""
        self._write()
        return True

    def _write(self) -> None:
        clock, dynamodb = self._deployment.clock, self._deployment.dynamodb
        if not self._deployment.stream.enabled:
            clock.advance(self._choices.pick((10, 70)))
        for key in sorted(key for key, _ in dynamodb.items if dynamodb.is_expired(key)):
            if is_base_item(dynamodb.find(key) or {}) and self._choices.draw_bool(0.7):
                self._writer.expire(key)
        image = dict(self._writer.draw_image())
        old = dynamodb.find(attributes.get_key(image))
        if old is None:
            ttl = int(clock.now().timestamp()) + self._choices.pick(LIFETIMES_S)
            image |= {"created_at": {"S": keys.render_instant(clock.now())}, "ttl": {"N": str(ttl)}}
        else:
            image |= {"created_at": old["created_at"], "ttl": old["ttl"]}
        dynamodb.commit(attributes.get_key(image), image)
        self._note(f"put {image}")

    def finish(self) -> None:
        """DynamoDB removes the rest of what has expired."""
        for key in sorted(self._writer.items):
            self._writer.expire(key)

    # --- What is lost -------------------------------------------------------------------------

    def copy_items(self) -> None:
        """A copy is made, unless records are lost already."""
        if not read_gap(self._deployment.open_table()).is_open and self._lost_since is None:
            self._copy = MemoryDynamoDB(self._deployment.clock.now)
            self._copied_at = self._deployment.clock.now()
            for key, item in self._deployment.dynamodb.items:
                self._copy.commit(key, item)
            self._note("the table is copied")

    def _is_seen(self) -> bool:
        if self._choices.draw_bool(0.7):
            self.copy_items()
        return super()._is_seen()

    def _begin_stream(self) -> None:
        """The mappings read the new stream, and what waits in the earlier one is lost.

        An archiver that has begun with some of it continues for a while.
        """
        for key in sorted(self._writer.items) if self._deployment.stream.enabled else ():
            self._writer.expire(key)
        for consumer, shard in self._lambda.list_ready_shards():
            if consumer == "archive" and self._choices.draw_bool(0.7):
                self._lambda.invoke(consumer, shard)
        self._drop_waiting()
        super()._begin_stream()

    # --- The archive --------------------------------------------------------------------------

    def _open_archive(self, process: SimulatedProcess) -> ArchiveReader:
        dependencies = self._waiting.build_dependencies(process)
        return ArchiveReader(dependencies.bucket(ARCHIVE_BUCKET))

    def _request(self) -> bool:
        if ARCHIVES and not self._archive_lost():
            return False
        return super()._request()

    def _archive_lost(self) -> bool:
        """Archive from the copy; False if it was killed or refused."""
        gap = read_gap(self._deployment.open_table())
        if not gap.is_open:
            return True
        process = self._start_run()
        while not process.finished:
            if self._choices.draw_bool(0.005):
                self._fault_counts["archiving killed"] += 1
                self._waiting.kill(process)
                return False
            if process.next_call == "describe_stream" or self._choices.draw_bool(0.1):
                self._deliver_all(4)
            if self._choices.draw_bool(0.02):
                self._waiting.run_round(self._choices.pick(self._lambda.detached), 4)
            if not process.finished:
                self._waiting.run_round(process, 4)
        return bool(process.outcome)

    def _start_run(self) -> SimulatedProcess:
        self._runs += 1
        copy, at, run = self._copy, self._copied_at, f"lost{self._runs}"
        copied = {name_life(image): image for _, image in copy.items if is_base_item(image)}
        self._copies.append(copied)

        def work(process: SimulatedProcess) -> bool:
            on = self._waiting.build_dependencies(process)
            client: Any = FaultyDynamoDB(copy, process)
            table, stream = on.table(TABLE), on.stream(TABLE)
            end = find_end(read_gap(table), stream.describe().label, on.now())
            lost = LostExpirations(
                store=table,
                copy=Table(client, TABLE),
                stream=stream,
                bucket=on.bucket(ARCHIVE_BUCKET),
                failures=on.bucket(FAILURE_BUCKET),
                ledger=self._deployment.entities.ledger,
                at=at,
                until=end,
                settled=end + dt.timedelta(seconds=SETTLE_S),
                run_id=run,
                budget=self._make_budget(process),
                threads=1,
                now=on.now,
            )
            try:
                count = lost.archive()
            except MoveBackError as error:
                self._note(f"{run}: {error}")
                return False
            except StoreError as error:
                raise UnavailableError(str(error)) from error
            for life, image in copied.items():
                if life in self._removed and int(image["ttl"]["N"]) <= end.timestamp():
                    self._archived.setdefault(life, image)
            self._fault_counts["archived from a copy"] += count
            self._note(f"{run}: {count} archived")
            return True

        process = self._waiting.start(LOST, work)
        process.seconds = 10 * STEP_S
        return process


def name_life(image: Image) -> Life:
    """What names the life of an item."""
    return attributes.get_key(image), image["created_at"]["S"]
