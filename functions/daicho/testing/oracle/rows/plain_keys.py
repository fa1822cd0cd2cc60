"""Keys of the table, as `docs/reference/table-layout.md` describes them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from daicho.plan import AggregatePlan

_ESCAPES = {code: f"${code:02X}" for code in range(ord("$") + 1)}
_INTEGER_END = 10**19
_SCORE_PLACES, _SCORE_DIGITS = 9, 28
_LARGEST_SCORE = 10**_SCORE_DIGITS - 1


def join_parts(parts: Iterable[str]) -> str:
    """A key of these components: what sorts up to ``$`` is escaped in them."""
    return "#".join([part.translate(_ESCAPES) for part in parts])


def split_parts(key: str) -> list[str]:
    """The components of a key."""
    parts = key.split("#")
    return [_unescape(part) for part in parts] if "$" in key else parts


def render_rows_partition(entity: str, pk: str, sk: str) -> str:
    """The partition key of the rows of a base item. ``pk``, ``sk``: the item's own key."""
    tenant, _, others = pk.partition("#")
    own = others.partition("#")[2]
    return f"{tenant}#{join_parts((f'~{entity}', own, sk))}"


def render_tally(tenant: str, entity: str, aggregate: AggregatePlan, group: Iterable[str]) -> str:
    """The partition key of a group's tally. ``tenant``: as a component of keys."""
    name = f"+{entity}.{aggregate.name}"
    return f"{tenant}#{join_parts((name, str(aggregate.since), *group))}"


def render_integer(value: int) -> str:
    """19 digits. A number below 0 is its distance from the smallest one, after ``-``."""
    return f"{value:019d}" if value >= 0 else f"-{_INTEGER_END - 1 + value:019d}"


def render_score(value: Decimal) -> str:
    """A number in billionths at 28 digits, the highest first; what does not fit is at an end.

    Raises:
        ValueError: the number has more than 9 places.
    """
    scaled = Fraction(value) * 10**_SCORE_PLACES
    if scaled.denominator != 1:
        raise ValueError(f"{value} has more than {_SCORE_PLACES} places")
    whole = min(max(int(scaled), -_LARGEST_SCORE), _LARGEST_SCORE)
    number = _LARGEST_SCORE - whole if whole > 0 else -whole
    return f"{'-' if whole > 0 else ''}{number:0{_SCORE_DIGITS}d}"


def compute_shard(shards: int, parts: Iterable[str]) -> int:
    """The shard of an item or a group: a hash of its components."""
    digest = hashlib.blake2b(join_parts(parts).encode(), digest_size=8).hexdigest()
    return int(digest, 16) % shards


def _unescape(part: str) -> str:
    first, *others = part.split("$")
    return first + "".join(chr(int(other[:2], 16)) + other[2:] for other in others)
