"""Which tallies a redrive may leave to a recount: those that nobody can know, and no other.

The library's own list is not believed. A tally may stand on it only for a record of which two
attempts disagreed whether it can be computed (its claim may come after it was counted), or which
Lambda discarded and whose slot went past it, or lost its number with time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from daicho.storage import keys
from tests.delivery.aws.stream import Record
from tests.delivery.code import Readings
from tests.delivery.site import Site

RECOUNT = keys.render("", "recount")
KNOWN_FOR = 24 * 3600.0


def listed(site: Site) -> set[str]:
    """The tallies that the library says have to be counted anew."""
    return {item["tally"]["S"] for key, item in site.table.items if key.pk == RECOUNT}


def admissible(site: Site, readings: Readings, redriven: float | None) -> set[str]:
    """The tallies that may be on that list. ``redriven``: when a redrive ran last."""
    discarded = set(_discarded(site))
    found: set[str] = set()
    for shard in site.stream.shards.values():
        behind: set[str] = set()
        for record in reversed(shard.records):
            changed = _tallies(site, record)
            change = record["dynamodb"]
            images = (change.get("OldImage"), change.get("NewImage"))
            if any(readings.disputed(image) for image in images):
                found |= changed
            if (shard.id, change["SequenceNumber"]) in discarded:
                age = (redriven or 0.0) - change["ApproximateCreationDateTime"]
                # A late repeat of it, once others were announced, may only be claimed as
                # uncertain, though nobody could read it.
                nobody = age >= KNOWN_FOR or any(readings.failed(image) for image in images)
                found |= changed if nobody else changed & behind
            behind |= changed
    return found


def _tallies(site: Site, record: Record) -> set[str]:
    change = record["dynamodb"]
    images = (change.get("OldImage"), change.get("NewImage"))
    if not any("type" in image for image in images if image):
        return set()
    return site.declared.touched(images, expired="userIdentity" in record)


def _discarded(site: Site) -> Iterator[tuple[str, str]]:
    """The records that Lambda gave up, by shard and number."""
    for body in site.laid_down:
        told = json.loads(body)
        if not told["requestContext"]["functionArn"].endswith(":project"):
            continue  # what the archive lacks counts nowhere
        for record in json.loads(told["payload"])["Records"]:
            number = record["dynamodb"]["SequenceNumber"]
            yield told["DDBStreamBatchInfo"]["shardId"], number


def inadmissible(found: Collection[str], allowed: Collection[str]) -> list[str]:
    """What is listed and must not be."""
    return [f"recount: {tally} can be known" for tally in sorted(set(found) - set(allowed))]
