"""Events of a table's stream as Lambda passes them, and the entities whose items they show."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from daicho import Aggregate, Domain, Entity, Key, Listing, Sum, field, uid
from daicho.declare.registry import Daicho
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage.attributes import Image, get_key, to_image
from daicho.storage.requests import to_key_image

TENANT = "acme"
SHARD = "shardId-00000001763684740123-a1b2c3d4"
STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-21T00:00:00.000"
BEGAN = 1_795_223_140
Change = tuple[Image | None, Image | None]
_sequence = itertools.count(100_000_000_000_000_000_000)


def declare_entities() -> Daicho:
    """The entities, each of which shows one kind of the projector's work."""

    class Sale(Entity):
        """A sale: the number of sales and their amount, by group."""

        id: str = uid()
        group: str = field()
        amount: int = field()
        note: str = field()
        key = Key(id)
        revenue = Aggregate(Sum(amount), group)

    class Task(Entity):
        """A task, in the list of its group."""

        id: str = uid()
        group: str = field()
        note: str = field()
        key = Key(id)
        by_group = Listing(group)

    return Daicho(Domain("speed", Sale, Task))


@cache
def load_ledger() -> Ledger:
    """The ledger of the entities."""
    daicho = declare_entities()
    return daicho.check_locked(daicho.append_generations(Ledger()))


def build_image(entity: str, fields: Mapping[str, Any]) -> Image:
    """A base item as the API writes it."""
    generation = load_ledger().current_generation(entity)
    return build_base_item(TENANT, generation, to_image(fields), utc_now())


def draw_sales(draw: random.Random, count: int, groups: int, prefix: str = "group") -> list[Image]:
    """New sales, spread over the groups alike."""
    return [
        build_image(
            "Sale",
            {
                "id": f"{draw.getrandbits(80):020x}",
                "group": f"{prefix} {number % groups}",
                "amount": draw.randrange(100_000),
                "note": "left at the door",
            },
        )
        for number in range(count)
    ]


def build_event(changes: Iterable[Change]) -> dict[str, Any]:
    """The event of these changes of items: old image and new image. Each string is a new object."""
    records = [_build_record(old, new) for old, new in changes]
    event: dict[str, Any] = json.loads(
        json.dumps({"Records": records, "shardId": SHARD, "state": {}})
    )
    return event


def _build_record(old: Image | None, new: Image | None) -> dict[str, Any]:
    number = next(_sequence)
    images = {name: image for name, image in (("OldImage", old), ("NewImage", new)) if image}
    return {
        "eventID": f"{number:032x}",
        "eventName": "INSERT" if old is None else "MODIFY" if new is not None else "REMOVE",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": BEGAN,
            "Keys": to_key_image(get_key(new or old or {})),
            **images,
            "SequenceNumber": str(number),
            "SizeBytes": 400,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": STREAM,
    }
