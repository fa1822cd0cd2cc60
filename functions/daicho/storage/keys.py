"""Key strings: escaped, fixed width, ordered.

A key is made of components joined by ``#``. Inside a component every code point up to and
including ``$`` is written as ``$`` and two hexadecimal digits, so that

- no component contains the delimiter: a value can never reach another tenant's partition;
- rendering is injective: ``parse(render(*parts)) == parts``;
- rendered keys sort as the tuples of their components do, because everything that is escaped
  sorts above the delimiter and below everything that is not.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from decimal import Context, Decimal
from functools import lru_cache
from math import ceil

DELIMITER = "#"
ESCAPE = "$"
PARTITION_KEY_BYTES = 2048
SORT_KEY_BYTES = 1024
INTEGER_DIGITS = 19
MIN_SHARDS = 8
WRITES_A_SECOND = 1_000
"""The writes that DynamoDB accepts for one partition key."""
SCORE_PLACES = 9
"""Decimal places that a ranking score keeps."""
MAX_CACHED_LENGTH = 64
"""The longest text, in characters, whose escaped form is cached."""
CACHED_COMPONENTS = 4_096
"""How many escaped components are cached: at most 2 MB of ASCII, since each character becomes up to
3. Of other text a character takes up to 4 bytes instead of 1."""

_HIGHEST = 10**INTEGER_DIGITS - 1
_SCORE_HIGHEST = 10 ** (INTEGER_DIGITS + SCORE_PLACES) - 1
_EXACT = Context(prec=60)
"""Wider than any DynamoDB number: the default context would round to 28 digits, unseen."""
_TO_ESCAPE = re.compile(r"[\x00-$]")
_ESCAPED_CHARACTERS = [chr(code) for code in range(ord(ESCAPE) + 1)]
_PLAIN_SCORE = re.compile(rf"-?[0-9]{{1,{INTEGER_DIGITS}}}(\.[0-9]{{1,{SCORE_PLACES}}})?").fullmatch
_ESCAPED = re.compile(r"\$([0-9A-F]{2})")

Scalar = str | int | bool | Decimal | dt.date | dt.datetime


class KeyTooLongError(ValueError):
    """A key that DynamoDB would refuse: over 2,048 bytes (partition) or 1,024 (sort)."""


def needs_escape(text: str) -> bool:
    """Whether `escape` changes a text. For a long one this is faster than to try it."""
    return any(character in text for character in _ESCAPED_CHARACTERS)


def escape(text: str) -> str:
    """Write ``text`` as one component."""
    return _escape_short(text) if len(text) <= MAX_CACHED_LENGTH else _escape(text)


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda match: f"{ESCAPE}{ord(match[0]):02X}", text)


# Names, tenants, groups and days come again in nearly every record.
_escape_short = lru_cache(CACHED_COMPONENTS)(_escape)


def unescape(component: str) -> str:
    """Undo `escape`."""
    if ESCAPE not in component:
        return component
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), component)


def render(*parts: str) -> str:
    """Join ``parts`` into a key string."""
    return DELIMITER.join(map(escape, parts))


def extend(key: str, *parts: str) -> str:
    """Append ``parts`` to a rendered key: what keys have in common is rendered once."""
    return DELIMITER.join((key, *map(escape, parts)))


def parse(key: str) -> tuple[str, ...]:
    """Split a key string into its parts."""
    parts = key.split(DELIMITER)
    return tuple(map(unescape, parts) if ESCAPE in key else parts)


def parse_first(key: str) -> str:
    """The first part of a key string: the tenant of an item's partition key."""
    return unescape(key.partition(DELIMITER)[0])


def render_prefix(*parts: str) -> str:
    """The common prefix of all longer keys that begin with the whole components ``parts``."""
    return render(*parts) + DELIMITER


def render_scalar(value: Scalar) -> str:
    """Render a value for a key, so that strings sort as the values do.

    Integers take 19 digits, instants are UTC with microseconds, days are ISO dates.

    Raises:
        ValueError: an integer of more than 19 digits, or an instant without a time zone.
        TypeError: a kind of value that a key cannot contain.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return _render_integer(value)
        case dt.datetime():
            return render_instant(value)
        case dt.date():
            return value.isoformat()
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a key")


def render_instant(moment: dt.datetime) -> str:
    """``moment`` in UTC at fixed width: ``2026-11-21T01:05:40.123456Z``.

    Raises:
        ValueError: it has no time zone, or is not of the years 1 to 9999 in UTC.
    """
    if moment.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    try:
        in_utc = moment.astimezone(dt.UTC)
    except OverflowError:
        raise ValueError("an instant is of the years 1 to 9999 in UTC") from None
    return f"{in_utc.isoformat(timespec='microseconds')[:26]}Z"


def _render_integer(value: int) -> str:
    if abs(value) > _HIGHEST:
        raise ValueError(f"an integer in a key has at most {INTEGER_DIGITS} digits")
    # '-' sorts before the digits; among negatives the complement turns the order round.
    return f"{value:019d}" if value >= 0 else f"-{_HIGHEST + value:019d}"


def render_inverted_score(total: int | Decimal) -> str:
    """Render a total so that the highest sorts first (GSI3 is read forward).

    19 digits before the point and 9 behind it.

    Raises:
        ValueError: a total that does not fit exactly.
    """
    scaled = Decimal(total).scaleb(SCORE_PLACES, _EXACT)
    whole = int(scaled)
    if whole != scaled or abs(whole) > _SCORE_HIGHEST:
        raise ValueError(f"a score has at most {INTEGER_DIGITS} digits and {SCORE_PLACES} places")
    width = INTEGER_DIGITS + SCORE_PLACES
    # Above zero the complement, behind '-' so that it sorts before zero and all below it.
    return f"-{_SCORE_HIGHEST - whole:0{width}d}" if whole > 0 else f"{-whole:0{width}d}"


def read_inverted_score(text: str) -> Decimal:
    """The number that `render_inverted_score` has rendered."""
    scaled = _SCORE_HIGHEST - int(text[1:]) if text.startswith("-") else -int(text)
    return Decimal(scaled).scaleb(-SCORE_PLACES, _EXACT).normalize(_EXACT)


def is_plain_score(number: str) -> bool:
    """Whether a number as text obviously fits `render_inverted_score`; most numbers do."""
    return _PLAIN_SCORE(number) is not None


def parse_inverted_score(total: int | Decimal) -> str:
    """`render_inverted_score` of a sum: one past its width is at the end of the ranking.

    Each summand fits, but the number of summands is not bounded.
    """
    most = Decimal(_SCORE_HIGHEST).scaleb(-SCORE_PLACES, _EXACT)
    return render_inverted_score(max(-most, min(most, Decimal(total))))


def compute_shard(shards: int, *parts: str) -> int:
    """The calculated suffix of ``parts``: 0 to ``shards`` - 1, alike on every machine.

    It does not depend on time, so a spread item has one place for ever (rule 23: a ballot).
    Source: calculated suffixes, "Best practices for write sharding", Amazon DynamoDB Developer
    Guide.
    """
    if shards == 1:
        return 0
    digest = hashlib.blake2b(render(*parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shards


def shards_for(writes_a_second: float) -> int:
    """The number of item collections for so many one-unit writes: half full, at least 8.

    A partition key takes 1,000 write units a second, whatever else the table may take; random
    and hashed writers are uneven, and traffic grows before anyone notices.
    """
    return max(MIN_SHARDS, 2 * ceil(writes_a_second / WRITES_A_SECOND))


def check_partition(key: str) -> str:
    """Return ``key``, or raise KeyTooLongError over 2,048 bytes."""
    # Every code point takes at most four bytes: most keys need no encoding to pass.
    if len(key) * 4 > PARTITION_KEY_BYTES:
        _check_bytes(key, PARTITION_KEY_BYTES, "partition")
    return key


def check_sort(key: str) -> str:
    """Return ``key``, or raise KeyTooLongError over 1,024 bytes."""
    if len(key) * 4 > SORT_KEY_BYTES:
        _check_bytes(key, SORT_KEY_BYTES, "sort")
    return key


def _check_bytes(key: str, most: int, which: str) -> None:
    size = len(key.encode())
    if size > most:
        raise KeyTooLongError(f"a {which} key of {size} bytes; at most {most}: send shorter values")
