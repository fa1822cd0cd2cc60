"""The tallies that a redrive may leave to a recount: those that nothing can determine, no others.

The library's own list is not trusted. A tally may be on it for two reasons only. Two attempts
disagreed whether a record can be processed: it may have been counted before it was claimed. Or
Lambda discarded a record after its slot had passed its number or lost it with time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from daicho.storage import keys
from daicho.stream.claims import build_shard_key
from daicho.testing.aws.table_stream import Record
from daicho.testing.faults.code_versions import MARK, MarkedImageLog
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.oracle.stream_history import is_base_item

RECOUNT_PARTITION = keys.render("", "recount")
DISMISS = {"S": "dismiss"}
"""The action of an entry in the log that each dismissal begins with."""
SEQUENCE_RETENTION_S = 24 * 3600.0
"""How long a slot keeps the number of the last record that it counted."""


def list_recounts(deployment: SimulatedDeployment, expected: Iterable[str] = ()) -> set[str]:
    """The tallies on the library's list of recounts.

    A name without a group is of all tallies of an aggregate: those that exist, or are ``expected``.
    """
    items = list(deployment.dynamodb.items)
    listed = {item["tally"]["S"] for key, item in items if key.pk == RECOUNT_PARTITION}
    tallies = {*expected, *(key.pk for key, _ in items if "#+" in key.pk)}
    return listed | {each for each in tallies if any(each.startswith(f"{one}#") for one in listed)}


def find_unknowable_tallies(
    deployment: SimulatedDeployment, marked_images: MarkedImageLog, redriven_at: float
) -> set[str]:
    """The tallies that may be on that list. ``redriven_at``: epoch seconds of the last redrive."""
    discarded = set(_list_discarded_records(deployment))
    unknowable = _find_disputed_tallies(deployment)
    for shard in deployment.stream.shards.values():
        changed_later: set[str] = set()
        shard_item = deployment.dynamodb.find(build_shard_key(shard.id)) or {}
        for record in reversed(shard.records):
            tallies = _find_changed_tallies(deployment, record)
            change = record["dynamodb"]
            images = (change.get("OldImage"), change.get("NewImage"))
            if any(marked_images.is_disputed(image) for image in images):
                unknowable |= tallies
            if (shard.id, change["SequenceNumber"]) in discarded:
                age = redriven_at - change["ApproximateCreationDateTime"]
                # A late repetition of it, once others were announced, may only be claimed as
                # uncertain, even if no attempt could process it.
                is_uncertain = (
                    age >= SEQUENCE_RETENTION_S
                    or "retired" in shard_item
                    or any(marked_images.has_failed(image) for image in images)
                )
                unknowable |= tallies if is_uncertain else tallies & changed_later
            changed_later |= tallies
    return unknowable


def _find_disputed_tallies(deployment: SimulatedDeployment) -> set[str]:
    """All that a dismissal may list: what belongs to entities on whose images codes disagree."""
    if not any(item.get("action") == DISMISS for _, item in deployment.dynamodb.items):
        return set()
    disputed = {
        image.get("type", {}).get("S", "")
        for shard in deployment.stream.shards.values()
        for record in shard.records
        for image in (
            record["dynamodb"].get("OldImage", {}),
            record["dynamodb"].get("NewImage", {}),
        )
        if MARK in image
    }
    listed = list_recounts(deployment)
    entities = {each: keys.parse(each)[1].removeprefix("+").partition(".")[0] for each in listed}
    return {each for each, entity in entities.items() if entity in disputed}


def find_wrong_recounts(listed: Collection[str], unknowable: Collection[str]) -> list[str]:
    """The tallies on the list that could have been determined, in a line each."""
    wrong = sorted(set(listed) - set(unknowable))
    return [f"recount: {tally} can be determined" for tally in wrong]


def _find_changed_tallies(deployment: SimulatedDeployment, record: Record) -> set[str]:
    change = record["dynamodb"]
    images = (change.get("OldImage"), change.get("NewImage"))
    if not any(is_base_item(image) for image in images if image):
        return set()
    tallies = deployment.entities.find_changed_tallies(images, expired="userIdentity" in record)
    return tallies | _find_restored_tallies(deployment, change)


def _find_restored_tallies(deployment: SimulatedDeployment, change: Mapping[str, Any]) -> set[str]:
    """The tallies from whose kept parts a change that restores an item may subtract."""
    old, new = change.get("OldImage", {}), change.get("NewImage", {})
    if "_restored" not in new or new["_restored"] == old.get("_restored"):
        return set()
    archived = {**new, "gen": new["_restored"]["M"]["gen"]}
    kept = deployment.entities.compute_kept_amounts
    return {*kept(archived), *kept(new)}


def _list_discarded_records(deployment: SimulatedDeployment) -> Iterator[tuple[str, str]]:
    """The records that Lambda discarded, by shard and sequence number."""
    for body in deployment.failure_objects:
        content = json.loads(body)
        if not content["requestContext"]["functionArn"].endswith(":project"):
            continue  # records of the archiver change no tally
        for record in json.loads(content["payload"])["Records"]:
            number = record["dynamodb"]["SequenceNumber"]
            yield content["DDBStreamBatchInfo"]["shardId"], number
