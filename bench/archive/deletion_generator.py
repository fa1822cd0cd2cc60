"""Deletions of expired items, as Lambda delivers them to the archive's consumer.

All values depend on a seed.
"""

from __future__ import annotations

import datetime as dt
import random
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from daicho.layout import item_keys
from daicho.plan import Ledger
from daicho.storage import attributes, keys
from daicho.storage.item_key import ItemKey

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/daicho/stream/2026-11-01T00:00:00.000"
TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
TENANTS = tuple(f"tenant-{number:02d}" for number in range(20))
SHARE_OF_MESSAGES = 0.7
VOCABULARY = 2_000
LIFE = {"Message": dt.timedelta(days=7), "Download": dt.timedelta(days=400)}
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # pragma: allowlist secret


@dataclass(frozen=True)
class Deletion:
    """One item that DynamoDB's TTL process deletes. ``record``: its form in the event."""

    at: dt.datetime
    entity: str
    tenant: str
    key: ItemKey
    record: dict[str, Any]


class Deletions:
    """Messages and downloads of twenty tenants; the first tenant has the most."""

    def __init__(self, ledger: Ledger, seed: int = 1) -> None:
        self._ledger, self._random = ledger, random.Random(seed)  # noqa: S311
        letters = string.ascii_lowercase
        self._words = [
            "".join(self._random.choices(letters, k=self._random.randint(2, 10)))
            for _ in range(VOCABULARY)
        ]
        self._number = 0

    def at(self, moments: Sequence[dt.datetime]) -> Iterator[Deletion]:
        """A deletion at each time; the moments are in order."""
        weights = [1 / (place + 1) for place in range(len(TENANTS))]
        for time in moments:
            entity = "Message" if self._random.random() < SHARE_OF_MESSAGES else "Download"
            (tenant,) = self._random.choices(TENANTS, weights)
            yield self._deletion(time, entity, tenant)

    def _deletion(self, time: dt.datetime, entity: str, tenant: str) -> Deletion:
        self._number += 1
        plan = self._ledger.current_generation(entity)
        created = time - LIFE[entity] - dt.timedelta(minutes=self._random.randint(1, 600))
        values: dict[str, Any] = {
            "type": entity,
            "gen": plan.number,
            "version": 1,
            "created_at": keys.render_instant(created),
            "ttl": int((created + LIFE[entity]).timestamp()),
            **(self._message() if entity == "Message" else self._download(created)),
        }
        image = attributes.to_image(values)
        key = item_keys.build_base_key(tenant, plan.plan, image)
        image |= {"PK": {"S": key.pk}, "SK": {"S": key.sk}}
        record = {
            "eventID": self._text("0123456789abcdef", 32),
            "eventName": "REMOVE",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "userIdentity": TTL,
            "eventSourceARN": ARN,
            "dynamodb": {
                "ApproximateCreationDateTime": time.timestamp(),
                "Keys": {name: image[name] for name in ("PK", "SK")},
                "OldImage": image,
                "SequenceNumber": str(400_000_000_000_000_000_000 + self._number),
                "SizeBytes": attributes.measure_image(image),
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
        }
        return Deletion(time, entity, tenant, key, record)

    def _message(self) -> dict[str, Any]:
        text = " ".join(self._random.choices(self._words, k=self._random.randint(3, 40)))
        return {"id": self._id(), "text": text, "sender": f"user{self._random.randint(1, 500)}"}

    def _download(self, created: dt.datetime) -> dict[str, Any]:
        song = self._random.randint(1, 5_000)
        fields = {"song": f"song-{song}", "artist": f"artist-{song % 300}"}
        return {**fields, "id": self._id(), "at": keys.render_instant(created)}

    def _id(self) -> str:
        return self._text(CROCKFORD, 26)

    def _text(self, letters: str, length: int) -> str:
        return "".join(self._random.choices(letters, k=length))


def moments(count: int, first: dt.datetime, days: float, seed: int = 1) -> list[dt.datetime]:
    """``count`` moments, evenly at random over ``days`` days, in order."""
    source = random.Random(seed)  # noqa: S311
    seconds = sorted(source.uniform(0, days * 86_400) for _ in range(count))
    return [first + dt.timedelta(seconds=offset) for offset in seconds]
