"""What instances contain as far as the stream has come: compared while everything continues.

A change of an item is settled once its record was handled. A record that was set aside, because it
is poison or was discarded, is not. Whatever an unsettled record can change is not compared; the
rest must equal the plain recomputation at any time (property 1).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.stream.claims import ShardClaims
from daicho.stream.failed_batch import ON_FAILURE_PREFIX
from daicho.tally import slots, total_items
from daicho.testing.aws.table_stream import Record
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.recounts import list_recounts
from daicho.testing.oracle.rows.plain_amounts import add_exactly
from daicho.testing.oracle.rows.plain_keys import render_rows_partition
from daicho.testing.oracle.stream_history import is_base_item
from daicho.testing.stack_settings import FAILURE_BUCKET
from tests.simulator.oracle.instance_contents import Contents, Instance, InstanceContents

_SHARD_ITEMS = keys.render("", "shard", "")


@dataclass
class Unsettled:
    """What unsettled records can change.

    ``images``: of base items. ``partitions``: of derived items.
    """

    images: list[Image] = field(default_factory=list)
    partitions: set[str] = field(default_factory=set)

    def add(self, record: Record) -> None:
        """Add a record."""
        for image in list_images(record):
            own_key = image["PK"]["S"], image["SK"]["S"]
            self.images.append(image)
            self.partitions.add(render_rows_partition(image["type"]["S"], *own_key))


def list_images(record: Record) -> list[Image]:
    """The images of a record, if they are of a base item."""
    change = record["dynamodb"]
    images = (change[name] for name in ("OldImage", "NewImage") if name in change)
    return [image for image in images if is_base_item(image)]


class SettledContents:
    """Compares instances with what the settled records imply. `refresh` before each comparison."""

    def __init__(self, deployment: SimulatedDeployment, contents: InstanceContents) -> None:
        self._deployment = deployment
        self._contents = contents
        self._unsettled = Unsettled()
        self._recounts: set[str] = set()
        self._rows: dict[ItemKey, IndexRow] = {}
        self._amounts: dict[str, Amount] = {}

    def refresh(self, entity: str = "", older_than: int = 0) -> None:
        """Find what is not settled at this moment.

        ``entity``, ``older_than``: records with an image of this entity and of an older generation
        count as settled although they were set aside: a rebuild must not end with one of them.
        """
        self._read_table()
        self._unsettled = Unsettled()
        self._recounts = list_recounts(self._deployment)
        for record in self.list_waiting_records():
            self._unsettled.add(record)
        for record in self._list_records_set_aside():
            if not has_older_image(record, entity, older_than):
                self._unsettled.add(record)

    def find_differences(self, instance: Instance) -> list[str]:
        """How an instance differs from the items, where nothing is unsettled; in a line each."""
        skipped = {
            key if isinstance(key, str) else key.pk
            for image in self._unsettled.images
            if image["type"]["S"] == instance.entity
            for key in self._contents.derive_alone(instance, image)
        }
        skipped |= self._unsettled.partitions | self._recounts
        expected = self._contents.compute_contents(instance)
        actual = self._read(instance)
        return [
            f"{instance}: {key}: {actual.get(key)} instead of {expected.get(key)}, and settled"
            for key in sorted({*expected, *actual}, key=str)
            if expected.get(key) != actual.get(key)
            and (key if isinstance(key, str) else key.pk) not in skipped
        ]

    def list_waiting_records(self) -> Iterator[Record]:
        """The records that the projector has not handled, and that no event filter dropped."""
        mapping = self._deployment.mappings["project"]
        for shard in self._deployment.stream.shards.values():
            checkpoint = mapping.get_checkpoint(shard.id)
            selections = mapping.list_selections(shard.id)[checkpoint:]
            for place, record in enumerate(shard.records[checkpoint:]):
                if place >= len(selections) or selections[place]:
                    yield record

    def _read(self, instance: Instance) -> Contents:
        """What an instance has, of what `refresh` has read."""
        return {
            **{key: row for key, row in self._rows.items() if instance.owns_row(key)},
            **{
                tally: amount
                for tally, amount in self._amounts.items()
                if amount and instance.owns_tally(tally)
            },
        }

    def _read_table(self) -> None:
        """Read the derived items, and the sums of all slots, whether they are rolled up or not."""
        self._rows, self._amounts = {}, {}
        for key, item in self._deployment.dynamodb.items:
            if "~" in key.pk:
                if "GSI2PK" in item:
                    self._rows[key] = IndexRow.from_item(item)
            elif "#+" in key.pk:
                is_slot = slots.is_slot(key.sk)
                amount = slots.read_amount(item) if is_slot else total_items.read_base(item)
                self._amounts[key.pk] = add_exactly(self._amounts.get(key.pk, Amount()), amount)

    def _list_records_set_aside(self) -> Iterator[Record]:
        """The records with a claim that is not done, and those in the on-failure bucket."""
        for name, stored in self._deployment.buckets[FAILURE_BUCKET].stored.items():
            if name.startswith(ON_FAILURE_PREFIX):
                yield from json.loads(json.loads(stored.body)["payload"])["Records"]
        numbers = {
            (claim.seq, shard)
            for shard, claims in self._list_shard_claims()
            for claim in claims.open_claims
        }
        if numbers:
            for shard in self._deployment.stream.shards.values():
                for record in shard.records:
                    if (render_number(record), shard.id) in numbers:
                        yield record

    def _list_shard_claims(self) -> Iterable[tuple[str, ShardClaims]]:
        for key, item in self._deployment.dynamodb.items:
            if key.pk.startswith(_SHARD_ITEMS):
                shard = key.pk.removeprefix(_SHARD_ITEMS)
                yield shard, ShardClaims.from_item(shard, item)


def render_number(record: Record) -> str:
    """The number of a record as claims have it."""
    label = record["eventSourceARN"].rpartition("/")[2]
    return f"{label}#{record['dynamodb']['SequenceNumber']:0>40}"


def has_older_image(record: Record, entity: str, generation: int) -> bool:
    """Whether a record has an image of an entity and of an older generation."""
    return any(
        image["type"]["S"] == entity and int(image["gen"]["N"]) < generation
        for image in list_images(record)
    )
