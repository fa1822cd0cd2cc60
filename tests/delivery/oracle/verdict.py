"""What differs from the oracle when a schedule is over."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from daicho.archive.reader import ArchiveReader, DayRange
from daicho.archive.verifier import Verifier
from daicho.derive.contributions import Amount
from daicho.derive.index_row import IndexRow
from daicho.plan import AggregatePlan
from daicho.storage import keys
from daicho.storage.bucket import Bucket
from daicho.tally import reader, slots
from tests.delivery.aws.attributes import Image
from tests.delivery.clock import BEGAN
from tests.delivery.oracle.world import World
from tests.delivery.site import ARCHIVE, Site


def differences(site: Site, world: World, recounted: Collection[str] = ()) -> list[str]:
    """All that is not as it should be. ``recounted``: tallies that nobody can know."""
    items = dict(site.table.items)
    rows = {
        key: IndexRow.from_item(item)
        for key, item in items.items()
        if "~" in key.pk and "GSI2PK" in item
    }
    found = _unlike("derived items", world.rows(), rows)
    tallies = {key.pk for key in items if "#+" in key.pk}
    table = site.reader()
    expected = _known(world.amounts(), recounted)
    live = {tally: reader.read_live_amount(table, tally) for tally in tallies}
    found += _unlike("slots", expected, _known(live, recounted))
    rolled = {
        tally: reader.read_rolled_up_amount(table, tally, consistent=True) for tally in tallies
    }
    found += _unlike("totals", expected, _known(rolled, recounted))
    marked = {key for key, item in items.items() if "#dirty#" in _place(item)}
    found += _unlike("marks", {}, dict.fromkeys(marked))
    ranked = {
        key.pk: (item["GSI3PK"]["S"], item["GSI3SK"]["S"])
        for key, item in items.items()
        if key.sk == slots.TOTAL_SORT_KEY and "GSI3PK" in item and key.pk not in recounted
    }
    charted = {
        tally: _ranked(tally, site.declared.aggregate(tally), amount)
        for tally, amount in expected.items()
        if site.declared.aggregate(tally).ranked
    }
    found += _unlike("ranking", charted, ranked)
    found += _unlike("archive", world.archived(), archived(site))
    return found + _verified(site, world)


def snapshot(site: Site, tally: str) -> Amount:
    """What a tally's base and slots hold at this moment, all of them at once."""
    found = Amount()
    for key, item in site.table.items:
        if key.pk == tally and slots.is_slot(key.sk):
            found += slots.read_amount(item)
        elif key.pk == tally:
            found += slots.read_base(item)
    return found


def archived(site: Site) -> Counter[str]:
    """The rows of the archive, each with how often it is there."""
    return Counter(
        json.dumps(json.loads(line)["item"], sort_keys=True)
        for each in site.buckets[ARCHIVE].stored.values()
        for line in gzip.decompress(each.body).splitlines()
    )


def _verified(site: Site, world: World) -> list[str]:
    """What the library's own verification says of the archive: all was redriven, so all counts."""
    bucket = Bucket(site.buckets[ARCHIVE], ARCHIVE)  # type: ignore[arg-type]
    later = site.clock.now() + dt.timedelta(hours=2)
    verifier = Verifier(site.reader(), ArchiveReader(bucket), now=lambda: later)
    days = DayRange(BEGAN.date(), later.date())
    report = verifier.verify(days, sorted(world.expired_types))
    return [f"archive: {each.kind}: {each.name}: {each.detail}" for each in report.findings]


def _place(item: Image) -> str:
    return str(item.get("GSI2PK", {}).get("S", ""))


def _ranked(tally: str, aggregate: AggregatePlan, amount: Amount) -> tuple[str, str]:
    """Where a total belongs: by its score, within all but the members of its tally's key."""
    tenant, name, *parts = keys.parse(tally)
    place = len(parts) - len(aggregate.by)
    within, members = parts[:place], parts[place:]
    shard = [str(keys.compute_shard(aggregate.shards, *members))] if aggregate.shards > 1 else []
    ranking = keys.render(tenant, name.removeprefix("+"), *within, *shard)
    return ranking, keys.render(keys.render_inverted_score(amount.total), *members)


def _known(amounts: Mapping[str, Amount], recounted: Collection[str]) -> dict[str, Amount]:
    return {tally: amount for tally, amount in amounts.items() if amount and tally not in recounted}


def _unlike(what: str, expected: Mapping[Any, Any], found: Mapping[Any, Any]) -> list[str]:
    return [
        f"{what}: {key}: {found.get(key)} instead of {expected.get(key)}"
        for key in sorted({*expected, *found}, key=str)
        if expected.get(key) != found.get(key) or (key in expected) != (key in found)
    ]
