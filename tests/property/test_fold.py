"""Whatever the boundaries of batches, folding gives what a plain recomputation gives."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from daicho.derive.contributions import Amount
from daicho.derive.derived_items import IndexRow
from daicho.layout import item_keys, versions
from daicho.plan.event_filters import project_filters
from daicho.storage import attributes
from daicho.storage.attributes import ItemKey
from daicho.stream.batch_fold import DerivedWrite, fold_batch, sum_deltas
from daicho.stream.changes import RecordChanges, compute_batch
from daicho.stream.records import Batch
from daicho.testing.aws.event_filters import EventFilters
from daicho.testing.choices import Choices
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.schedules.base_item_writer import BaseItemWriter
from tests.delivery.sample_values import LEDGER, SAMPLE_ENTITIES

ENTITIES = (("Song",), ("Download",), ("Order",), ("Song", "Download", "Order"))
ACTIONS = ("put", "put", "put", "touch", "delete", "expire")


History = tuple[BaseItemWriter, list[Batch]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Some writes, and their records of each shard cut into batches anywhere.

    Beside the base items there may be their versions, as the transactions of a writer leave them:
    nothing follows from those.
    """
    # A seed of many bits: Hypothesis likes small ones, and would draw the same few worlds.
    choices = Choices(draw(st.binary(min_size=8, max_size=8)).hex())
    deployment = SimulatedDeployment(choices, SAMPLE_ENTITIES, retries=300)
    recorder, clock = deployment.recorder, deployment.clock
    writer = BaseItemWriter(deployment, draw(st.sampled_from(ENTITIES)), ACTIONS)
    writer.known_generation = draw(st.sampled_from((1, 2)))
    versioned = draw(st.booleans())
    for number in range(1, draw(st.sampled_from((3, 8, 15))) + 1):
        writer.write()
        for item in writer.items.values() if versioned else ():
            revised = versions.split_versioned_image(item, number, clock.now())
            kept = versions.build_version_item(revised, item["type"]["S"])
            deployment.dynamodb.commit(attributes.get_key(kept), kept)
        if draw(st.integers(0, 9)) == 0:
            recorder.split(draw(st.sampled_from(recorder.open_shards)))
    batches: list[Batch] = []
    for shard in deployment.stream.shards.values():
        left = list(shard.records)
        while left:
            size = draw(st.integers(1, len(left)))
            batches.append(Batch.parse({"shardId": shard.id, "Records": left[:size]}))
            del left[:size]
    return writer, batches


def computed(batch: Batch) -> Sequence[RecordChanges]:
    found = compute_batch(batch.records, LEDGER)
    assert found.stop is None
    assert found.poison == ()
    return found.computed


@given(histories())
def test_derived_items_are_those_of_the_base_items(
    history: History,
) -> None:
    writer, batches = history
    rows: dict[ItemKey, IndexRow] = {}
    for batch in batches:
        for write in fold_batch(computed(batch)):
            if isinstance(write, DerivedWrite):
                rows.pop(write.key, None)
                rows |= {} if write.row is None else {write.key: write.row}
    assert rows == writer.recompute().compute_rows()


@given(histories())
def test_amounts_are_those_of_the_base_items(
    history: History,
) -> None:
    writer, batches = history
    amounts: dict[str, Amount] = {}
    for batch in batches:
        for write in fold_batch(computed(batch)):
            if not isinstance(write, DerivedWrite):
                tally = write.key.pk
                amounts[tally] = amounts.get(tally, Amount()) + sum_deltas(write.deltas)
    counted = {tally: amount for tally, amount in amounts.items() if amount}
    assert counted == writer.recompute().compute_amounts()


@given(histories())
def test_no_two_writes_of_a_batch_touch_one_item(
    history: History,
) -> None:
    _, batches = history
    for batch in batches:
        keys = [write.key for write in fold_batch(computed(batch))]
        assert len(keys) == len(set(keys))


@given(histories())
def test_an_item_is_put_where_it_stands_now_before_it_is_removed_elsewhere(
    history: History,
) -> None:
    _, batches = history
    for batch in batches:
        removing: set[ItemKey] = set()
        for write in fold_batch(computed(batch)):
            if isinstance(write, DerivedWrite):
                base = item_keys.parse_derived_partition(write.key.pk)
                assert write.row is None or base not in removing
                removing |= {base} if write.row is None else set()


@given(histories())
def test_a_write_stands_for_records_of_its_batch(
    history: History,
) -> None:
    _, batches = history
    for batch in batches:
        numbers = {record.seq for record in batch.records}
        for write in fold_batch(computed(batch)):
            assert write.lowest in numbers
            if isinstance(write, DerivedWrite):
                assert write.lowest <= write.seq
                assert write.seq in numbers
            else:
                in_order = [delta.seq for delta in write.deltas]
                assert in_order == sorted(set(in_order))
                assert numbers.issuperset(in_order)
                assert all(delta.amount for delta in write.deltas)


@given(histories())
def test_versions_never_wake_the_projector(
    history: History,
) -> None:
    _, batches = history
    filters = EventFilters(project_filters(LEDGER.derived_types))
    for batch in batches:
        for record in batch.records:
            is_version = "#@" in record.key.pk
            assert filters.matches(record.raw) is not is_version
            assert (record.entity is None) is is_version
