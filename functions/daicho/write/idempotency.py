"""Requests that are executed once: the record under an Idempotency-Key, and how long it is kept.

The record of a request contains its answer, and is written in the transaction of its effect. If
the record exists, the request was executed; if no record exists, the request was not executed.

Source: the resource policy in "The Idempotency-Key HTTP Header Field" (IETF draft).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, Context

from daicho.errors import Invalid
from daicho.storage import attributes, keys
from daicho.storage.attributes import Image
from daicho.storage.item_key import EMPTY_SORT_KEY, ItemKey
from daicho.storage.requests import Put
from daicho.storage.table import Table

HEADER = "Idempotency-Key"
KEPT_SECONDS = 24 * 60 * 60
COMPRESS_FROM_BYTES = 512
"""The size of an answer: a record of up to 1 KB costs the same, whatever its size."""
NO_CONTENT = 204
OWNER = "~request"


@dataclass(frozen=True)
class StoredAnswer:
    """The answer to a request: status, headers and the body's text."""

    status: int
    headers: Mapping[str, str]
    body: str | None


@dataclass(frozen=True)
class IdempotentRequest:
    """A request under a key; ``digest`` distinguishes it from others under the same key."""

    key: str
    digest: str

    @classmethod
    def from_http(
        cls, key: str, method: str, path: str, query: Mapping[str, str], body: str
    ) -> IdempotentRequest:
        """The request with this body; the spelling of its JSON does not matter."""
        identity = json.dumps([method, path, sorted(query.items()), _canonicalise(body)])
        return cls(key, hashlib.blake2b(identity.encode(), digest_size=16).hexdigest())

    def build_key(self, tenant: str) -> ItemKey:
        """The key of the record: one item collection per request key, so that none is hot."""
        return ItemKey(keys.render(tenant, OWNER, self.key), EMPTY_SORT_KEY)

    def find_answer(self, table: Table, tenant: str, now: dt.datetime) -> StoredAnswer | None:
        """The stored answer of the request; None if the request was not executed.

        Raises:
            Invalid: the key was used for another request.
        """
        return self.read_answer(table.get(self.build_key(tenant), consistent=True), now)

    def read_answer(self, record: Image | None, now: dt.datetime) -> StoredAnswer | None:
        """The answer in the request's record; None if the request was not executed.

        DynamoDB deletes a record days after it has expired. An expired record is ignored.

        Raises:
            Invalid: the key was used for another request.
        """
        if record is None or (attributes.get_integer(record, "ttl") or 0) <= now.timestamp():
            return None
        if attributes.get_text(record, "request") != self.digest:
            raise Invalid("it was used for another request before", field=HEADER)
        stored = attributes.from_image(record)
        body = stored.get("body")
        text = zlib.decompress(body).decode() if isinstance(body, bytes) else body
        return StoredAnswer(stored["status"], stored["headers"], text)

    def build_record(self, tenant: str, answer: StoredAnswer, now: dt.datetime) -> Put:
        """The write of the request's record, on the condition that there is none.

        An answer that does not fit an item, even compressed, is stored without its body. The
        answer to a repeat then reports only that the request was executed, and where.
        """
        image = self._build_image(tenant, answer, now)
        if attributes.measure_image(image) > attributes.MAX_ITEM_BYTES:
            image = self._build_image(tenant, replace(answer, status=NO_CONTENT, body=None), now)
        return Put(
            image,
            "attribute_not_exists(PK) OR #ttl <= :now",
            {"#ttl": "ttl"},
            {":now": {"N": str(int(now.timestamp()))}},
        )

    def _build_image(self, tenant: str, answer: StoredAnswer, now: dt.datetime) -> Image:
        key = self.build_key(tenant)
        image = attributes.to_image(
            {
                "PK": key.pk,
                "SK": key.sk,
                "request": self.digest,
                "status": answer.status,
                "headers": dict(answer.headers),
                "ttl": int(now.timestamp()) + KEPT_SECONDS,
            }
        )
        body = answer.body
        if body is None:
            return image
        if len(body) < COMPRESS_FROM_BYTES:
            return image | {"body": {"S": body}}
        return image | {"body": {"B": zlib.compress(body.encode())}}


def _canonicalise(body: str) -> str:
    """A JSON text with its names in order: some clients write them in another order each time."""
    try:
        return json.dumps(json.loads(body, parse_float=_keep_exact), sort_keys=True)
    except (ValueError, RecursionError):
        return body


def _keep_exact(number: str) -> dict[str, str]:
    """One spelling for a number that is not whole: as floats, two amounts may be equal."""
    context = Context(prec=len(number), Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    return {"": str(context.normalize(context.create_decimal(number)))}
