"""Units of counting: slots, announcements, totals and rankings, and the time of figures. Pure.

A batch writes each group that it contains once, and a rollup writes each total whose slots have
changed. So the units follow from the number of groups, and of records in a batch and a rollup.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from daicho.layout.heartbeats import count_keys
from daicho.layout.retention import STREAM_SAFETY_WINDOW
from daicho.plan import AggregatePlan
from daicho.plan.figures.figure_plans import PART_PREFIX
from daicho.plan.figures.series import CHUNK_BUCKETS
from daicho.storage.attributes import AttributeValue, Image, measure_image
from daicho.stream.watermark_job import IDLE_INTERVAL, KEYS_PER_SHARD, MAX_KEYS
from daicho_cli.cost.footprint import DIRTY_SHARDS, MAX_BATCH_RECORDS
from daicho_cli.cost.traffic import FigureTraffic, Traffic
from daicho_cli.cost.units import Units, measure_read, measure_write
from daicho_cli.cost.writes import SEQUENCE, Touches

POLLS_A_SECOND = 4
"""How often Lambda reads a shard of a table's stream ("Process DynamoDB records with Lambda")."""
SECONDS_A_DAY = 86_400
AMOUNT: AttributeValue = {"N": "100000"}
TALLY_CHARACTERS = 60
"""The length of a usual key of a tally."""
FOLD_UNITS = 4.0
"""The transaction that deletes an idle slot and adds its amount to the total."""
HEARTBEAT_AGE_S = 45
"""The age of the last record at which a shard gets a heartbeat while figures change
(``HEARTBEAT_SECONDS``)."""


def count_distinct(groups: float, draws: float) -> float:
    """The expected number of distinct groups among ``draws`` even draws of ``groups`` groups.

    Fractions are accepted: half a draw touches half a group.
    """
    if groups <= 0 or draws <= 0:
        return 0.0
    if groups <= 1:
        return min(1.0, draws)
    if draws <= 1:
        return draws
    return groups * (1 - math.exp(draws * math.log1p(-1 / groups)))


@dataclass(frozen=True)
class StreamLoad:
    """The stream's records of the period, in batches; and the runs of the rollup.

    ``busy_rollups``: those in the hours with traffic.
    """

    records: float
    batches: float
    rollups: float
    busy_rollups: float


def compute_stream_load(traffic: Traffic, records: float) -> StreamLoad:
    """How many batches the records come in, and how often the rollup runs.

    Lambda collects the records of a shard for the batching window, or for one poll without one.
    """
    stream = traffic.stream
    share_of_day = stream.hours_a_day / 24
    rollups = stream.rollups if stream.rollups is not None else traffic.days * 24 * 60
    batch_records = stream.batch_records
    if batch_records is None:
        seconds = max(1.0, traffic.days * SECONDS_A_DAY * share_of_day)
        rate = records / seconds / stream.shards
        batch_records = compute_batch_size(rate, stream.window_seconds)
    return StreamLoad(records, records / max(1.0, batch_records), rollups, rollups * share_of_day)


def compute_batch_size(rate: float, window_s: float) -> float:
    """The records of a batch: what one shard gets in the window, or between two polls without one.

    ``rate``: records a second of the shard. A batch has 1 to 1,000 records.
    """
    return max(1.0, min(MAX_BATCH_RECORDS, rate * max(1 / POLLS_A_SECOND, window_s)))


def estimate_counting(
    aggregate: AggregatePlan,
    figure: FigureTraffic,
    touches: Touches,
    groups: float,
    traffic: Traffic,
    load: StreamLoad,
) -> tuple[Units, Units]:
    """The units of counting so often in one of ``groups`` groups: in batches, and in rollups."""
    if touches.live <= 0 or load.batches <= 0:
        return Units(), Units()
    shards = traffic.stream.shards
    busy = max(1.0, load.busy_rollups)
    slot_writes = dirty_slots = 0.0
    for part in (touches.live, touches.kept):
        slot_writes += load.batches * count_distinct(groups, part / load.batches)
        dirty_slots += busy * count_distinct(groups * shards, part / busy)
    dirty_tallies = busy * count_distinct(groups, touches.live / busy)
    new = min(groups if figure.new_groups is None else figure.new_groups, dirty_tallies)
    # A total moves in its ranking, which is two writes of the index; a new one is put there.
    ranked = 2 * dirty_tallies - new if aggregate.ranked else 0.0
    slot = build_slot("t" * TALLY_CHARACTERS, aggregate)  # more than a unit with many figures
    written, read = measure_write(None, slot), measure_read(measure_image(slot))
    slot_units = Units(write=written * slot_writes + dirty_slots)
    # A mark that is removed is a write of the slot and one of the index.
    marks = (written + 1) * dirty_slots
    totals = Units(read=2 * read * dirty_tallies, write=written * dirty_tallies + ranked + marks)
    if aggregate.rolled_up == "at once":
        ranked = 2 * slot_writes - new if aggregate.ranked else 0.0
        slot_units += Units(read=2 * read * slot_writes, write=written * slot_writes + ranked)
        totals = Units(read=2 * read * dirty_tallies, write=written * dirty_tallies + marks)
    return slot_units, totals + _estimate_folding(touches.live, groups, traffic)


def estimate_votes(figure: FigureTraffic, groups: float, load: StreamLoad) -> tuple[Units, Units]:
    """The units of the votes of a fast counter: as they come, and in rollups."""
    if figure.votes <= 0:
        return Units(), Units()
    busy = max(1.0, load.busy_rollups)
    marks = busy * count_distinct(groups * figure.slots, figure.votes / busy)
    totals = busy * count_distinct(groups, figure.votes / busy)
    runs = busy * count_distinct(figure.rankings, figure.votes / busy)
    new = min(groups if figure.new_groups is None else figure.new_groups, totals)
    written = runs + totals + 2 * totals - new + 2 * marks
    slots = Units(write=figure.votes + marks)
    return slots, Units(read=runs * (1 + figure.slots), write=written)


def estimate_idle_rollups(traffic: Traffic, load: StreamLoad) -> Units:
    """The reads by which the runs of the rollup find dirty marks, or find that there are none.

    Sixteen marks fit into the smallest read of a partition. More marks cost half a unit for each
    sixteen, which is little compared with the rollup of their tallies.
    """
    partitions = DIRTY_SHARDS * measure_read(0, consistent=False)
    return Units(read=load.rollups * (measure_read(0) + partitions))


def build_slot(tally: str, aggregate: AggregatePlan) -> Image:
    """A slot as it is stored, with the parts of all figures.

    The chunk of a series has half of its buckets on average.
    """
    names = ["c"] if any(figure.kind == "count" for figure in aggregate.figures) else []
    for place, measured in enumerate(aggregate.measured_fields):
        names += [f"n{place}", f"s{place}", *([f"q{place}"] if measured.has_squares else [])]
        if measured.edges:
            names += [f"h{place}.{bucket}" for bucket in range(len(measured.edges) + 1)]
    if aggregate.series is not None:
        buckets = (CHUNK_BUCKETS[aggregate.series.bucket or "day"] + 1) // 2
        own = [*names, "items", "total"]
        names += [f"{bucket:05}:{name}" for bucket in range(buckets) for name in own]
    return {
        "PK": {"S": tally},
        "SK": {"S": "slot#shardId-00000000000000000000-00000000"},
        "seq": {"S": SEQUENCE},
        "at": {"N": "1764000000"},
        **dict.fromkeys(["items", "total", "rev", *(PART_PREFIX + name for name in names)], AMOUNT),
    }


def _estimate_folding(touches: float, groups: float, traffic: Traffic) -> Units:
    """A slot belongs to a shard of the stream. It is folded when the shard is long gone."""
    hours = traffic.days * 24
    if hours < STREAM_SAFETY_WINDOW.total_seconds() / 3600:
        return Units()
    shards = traffic.stream.shards * hours / traffic.assumptions.shard_hours
    return Units(write=FOLD_UNITS * count_distinct(groups * shards, touches))


def estimate_watermark(traffic: Traffic, load: StreamLoad) -> tuple[Units, float]:
    """The work that gives figures their ``as_of`` (EXACTNESS rule 55, ADR 0174).

    Each run of the rollup reads how far every shard of the stream has come. Shards without records
    get heartbeats: soon while figures change, and rarely while they do not.

    Returns:
        the units of the table, and how often the failure bucket is listed.
    """
    shards, busy = traffic.stream.shards, max(1.0, load.busy_rollups)
    # Runs that find changed figures, and times of quiet minutes at which heartbeats are sent.
    active = busy * -math.expm1(-load.records / busy)
    idle = max(0.0, load.rollups - active) / (IDLE_INTERVAL.total_seconds() / 60)
    seconds = max(1.0, traffic.days * SECONDS_A_DAY * traffic.stream.hours_a_day / 24)
    quiet = shards * math.exp(-load.records / seconds / shards * HEARTBEAT_AGE_S)
    heartbeats = active * _count_writes(shards, quiet) + idle * _count_writes(shards, shards)
    # Each run stores the watermark. It reads the watermark, what is known of the stream, the index
    # of claims, and each shard's item; then the list of recounts.
    begun = 2 * measure_read(0) + measure_read(0, consistent=False) + shards * measure_read(0)
    read = load.rollups * begun + (active + idle) * measure_read(0)
    return Units(read=read, write=load.rollups + heartbeats), active + idle


def _count_writes(shards: float, quiet: float) -> float:
    """Writes that a run causes: heartbeats, and the announcements of quiet shards."""
    sent = min(MAX_KEYS, count_keys(round(shards), round(quiet), KEYS_PER_SHARD))
    reached = count_distinct(shards, sent) * quiet / shards
    return min(1.0, quiet) * sent + reached
