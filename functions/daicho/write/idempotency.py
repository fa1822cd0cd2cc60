"""Requests that are executed once: the record under an Idempotency-Key, and how long it is kept.

The record of a request contains its answer, and is written in the transaction of its effect. If
the record exists, the request was executed; if no record exists, the request was not executed.

A record belongs to a subject: the caller of the request. The first subject that uses a key has its
record at the place of the key. Another subject that uses the same key has its record at a place of
its own, and prolongs the first record, so that no record of a key outlives the one at its place.
So one read finds whether a key is unused, and a second one is needed only if two subjects share it.

Source: the resource policy in "The Idempotency-Key HTTP Header Field" (IETF draft).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, Context

from daicho.errors import KeyReused
from daicho.layout.request_records import KEPT_SECONDS, OWNER
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import EMPTY_SORT_KEY, AttributeValue, Image, ItemKey, get_key
from daicho.storage.requests import ConditionCheck, Put, Update, Write, to_key_image
from daicho.storage.table import Table

HEADER = "Idempotency-Key"
COMPRESS_FROM_BYTES = 512
"""The size of an answer: a record of up to 1 KB costs the same, whatever its size."""
NO_CONTENT = 204
PROLONGED_SECONDS = 60 * 60
"""How much longer than needed a record is kept that is prolonged, so that it is done rarely."""


@dataclass(frozen=True)
class StoredAnswer:
    """The answer to a request: status, headers and the body's text."""

    status: int
    headers: Mapping[str, str]
    body: str | None


@dataclass(frozen=True)
class RequestRecord:
    """What is stored about a request: its answer, or None if the request was not executed.

    ``place``: the key of its record. ``first``: the record of another subject, which is stored at
    the place of the request's key; None if there is none.
    """

    place: ItemKey
    answer: StoredAnswer | None = None
    first: Image | None = None


@dataclass(frozen=True)
class IdempotentRequest:
    """A request under a key; ``digest`` distinguishes it from others under the same key.

    ``subject``: a digest of the subject that sends it.
    """

    key: str
    digest: str
    subject: str = ""

    @classmethod
    def from_http(
        cls,
        key: str,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: str,
        subject: str = "",
    ) -> IdempotentRequest:
        """The request of a subject with this body; the spelling of its JSON does not matter."""
        identity = json.dumps([method, path, sorted(query.items()), _canonicalise(body)])
        return cls(key, _compute_digest(identity), _compute_digest(subject))

    def build_key(self, tenant: str) -> ItemKey:
        """The place of the request's key: one item collection per key, so that none is hot."""
        return ItemKey(keys.render(tenant, OWNER, self.key), EMPTY_SORT_KEY)

    def build_own_key(self, tenant: str) -> ItemKey:
        """The place of the subject's record, if another subject has used the key before."""
        return ItemKey(keys.render(tenant, OWNER, self.key, self.subject), EMPTY_SORT_KEY)

    def find_record(self, table: Table, tenant: str, now: dt.datetime) -> RequestRecord:
        """What is stored about the request.

        A record of an older version has no subject: it is a record of each of them (ADR 0062).

        Raises:
            KeyReused: the subject used the key for another request.
        """
        place = self.build_key(tenant)
        first = table.get(place, consistent=True)
        if first is None or _is_expired(first, now):
            return RequestRecord(place)
        if attributes.get_text(first, "subject") in (None, self.subject):
            return RequestRecord(place, self.read_answer(first, now))
        own_place = self.build_own_key(tenant)
        own = table.get(own_place, consistent=True)
        return RequestRecord(own_place, self.read_answer(own, now), first)

    def read_answer(self, record: Image | None, now: dt.datetime) -> StoredAnswer | None:
        """The answer in the request's record; None if the request was not executed.

        DynamoDB deletes a record days after it has expired. An expired record is ignored.

        Raises:
            KeyReused: the key was used for another request.
        """
        if record is None or _is_expired(record, now):
            return None
        if attributes.get_text(record, "request") != self.digest:
            raise KeyReused("it was used for another request before: send a new key", field=HEADER)
        stored = attributes.from_image(record)
        body = stored.get("body")
        text = zlib.decompress(body).decode() if isinstance(body, bytes) else body
        return StoredAnswer(stored["status"], stored["headers"], text)

    def build_writes(
        self, record: RequestRecord, answer: StoredAnswer, now: dt.datetime
    ) -> list[Write]:
        """The writes of the request's record, on the condition that there is none.

        An answer that does not fit an item, even compressed, is stored without its body. The
        answer to a repeat then reports only that the request was executed, and where.
        """
        image = self._build_image(record.place, answer, now)
        if attributes.measure_image(image) > attributes.MAX_ITEM_BYTES:
            short = replace(answer, status=NO_CONTENT, body=None)
            image = self._build_image(record.place, short, now)
        put = Put(
            image,
            "attribute_not_exists(PK) OR #ttl <= :now",
            {"#ttl": "ttl"},
            {":now": {"N": str(int(now.timestamp()))}},
        )
        return [put, *_prolong(record.first, now)]

    def _build_image(self, place: ItemKey, answer: StoredAnswer, now: dt.datetime) -> Image:
        values = {
            "request": self.digest,
            "subject": self.subject,
            "status": answer.status,
            "headers": dict(answer.headers),
            "ttl": int(now.timestamp()) + KEPT_SECONDS,
            "body": answer.body,
        }
        image = {**to_key_image(place), **attributes.to_image(values)}
        if answer.body is not None and len(answer.body) >= COMPRESS_FROM_BYTES:
            image["body"] = {"B": zlib.compress(answer.body.encode())}
        return image


def _prolong(first: Image | None, now: dt.datetime) -> list[Write]:
    """The write that keeps the first record of a key as long as a record of another subject.

    Without it, the key would appear to be unused when the first record has expired.
    """
    needed = int(now.timestamp()) + KEPT_SECONDS
    if first is None:
        return []
    condition, names = "#ttl > :now", {"#ttl": "ttl"}
    values: dict[str, AttributeValue] = {":now": {"N": str(int(now.timestamp()))}}
    if (attributes.get_integer(first, "ttl") or 0) >= needed:
        return [ConditionCheck(get_key(first), condition, names, values)]
    values[":ttl"] = {"N": str(needed + PROLONGED_SECONDS)}
    return [Update(get_key(first), "SET #ttl = :ttl", condition, names, values)]


def _is_expired(record: Image, now: dt.datetime) -> bool:
    return (attributes.get_integer(record, "ttl") or 0) <= now.timestamp()


def _compute_digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _canonicalise(body: str) -> str:
    """A JSON text with its names in order: some clients write them in another order each time."""
    try:
        return json.dumps(json.loads(body, parse_float=_keep_exact), sort_keys=True)
    except (ValueError, RecursionError):
        return body


def _keep_exact(number: str) -> int | dict[str, str]:
    """One spelling for a number: as floats, two amounts may be equal. 1.0 and 1e0 are 1."""
    context = Context(prec=len(number), Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    value = context.normalize(context.create_decimal(number))
    if value.is_finite() and 0 <= value.as_tuple().exponent <= attributes.LARGEST:  # type: ignore[operator]
        return int(value)
    return {"": str(value)}
