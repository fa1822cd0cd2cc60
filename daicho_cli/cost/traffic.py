"""The traffic of a period, usually a month: what a traffic file describes. Pure.

All numbers are of the whole period and of all tenants together.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import field
from difflib import get_close_matches
from typing import Any, Literal

from daicho.errors import DaichoError
from daicho.runtime.frozen_dataclasses import dataclass
from daicho_cli.cost.footprint import PROJECT_WINDOW_SECONDS

MONTH_DAYS = 30.0
MAX_LIMIT = 100


class TrafficError(DaichoError):
    """A traffic file that cannot be read, or that names what is not declared."""


@dataclass(frozen=True)
class ChangeTraffic:
    """Changes of some ``fields``, by PATCH or by PUT of the whole item."""

    count: float
    fields: Mapping[str, Any]
    method: Literal["PATCH", "PUT"] = "PATCH"


@dataclass(frozen=True)
class PageTraffic:
    """Pages of a list. ``items``: the number that a page shows; ``limit``: the requested number.

    ``keyword``: of a search. ``copied``: only copied fields are requested, so that a page is read
    from the index rows.
    """

    count: float
    items: float = 20
    limit: int = MAX_LIMIT
    keyword: str = ""
    copied: bool = False


@dataclass(frozen=True)
class FigureTraffic:
    """Figures of an aggregate or a fast counter.

    Args:
        groups: the number of groups that are counted in at the same time; by default those of the
            examples. Events are assumed to be spread evenly over them.
        new_groups: how many groups are counted in for the first time; by default all.
        reads: readings of one figure, as rolled up last.
        live: readings of one figure, summed up now.
        chunks: the chunks of a series that a reading adds up: months by day, days by hour.
        buckets: the stored buckets with items whose smallest or largest values a reading shows.
        ranks: readings of one figure with its rank.
        rank: the rank that is read on average.
        tops: pages of the ranking. ``top_items``: the number of members on a page.
        rankings: the number of rankings that the groups belong to: for votes, of polls.
        votes: votes of a fast counter. ``slots``: the number of slots of each ranking.
    """

    groups: float | None = None
    new_groups: float | None = None
    reads: float = 0
    live: float = 0
    chunks: float = 1
    buckets: float = 1
    ranks: float = 0
    rank: float = 10
    tops: float = 0
    top_items: int = 10
    rankings: float = 1
    votes: float = 0
    slots: int = 8


@dataclass(frozen=True)
class SectionTraffic:
    """Changes and readings of single sections of split items."""

    changes: float = 0
    reads: float = 0


@dataclass(frozen=True)
class EntityTraffic:
    """The traffic of one entity.

    Args:
        items: items that are stored on average.
        creates: new items, by POST or PUT.
        deletes: items that users delete.
        expiries: items that DynamoDB's TTL process deletes.
        reads: readings of one item by its key.
        idempotent: the share of creates, changes and deletes under an Idempotency-Key.
        examples: typical items, as values by field; all count alike.
        changes: kinds of changes.
        pages: pages of lists: by the name of a search or a listing; ``key`` is the item's
            collection, ``inverse`` an edge from its other end, ``versions`` those of an item.
        figures: by the name of an aggregate or a counter.
        sections: single sections of a split item.
        object_bytes: the size of the S3 objects of one item.
    """

    items: float = 0
    creates: float = 0
    deletes: float = 0
    expiries: float = 0
    reads: float = 0
    idempotent: float = 0
    examples: tuple[Mapping[str, Any], ...] = ()
    changes: tuple[ChangeTraffic, ...] = ()
    pages: Mapping[str, PageTraffic] = field(default_factory=dict)
    figures: Mapping[str, FigureTraffic] = field(default_factory=dict)
    sections: SectionTraffic = SectionTraffic()
    object_bytes: float = 0


@dataclass(frozen=True)
class TransactionTraffic:
    """Requests of the domain's own that write several items at once.

    ``creates``, ``deletes`` and ``changes``: how many items of each entity; ``changes`` are those
    of the entity's first kind of changes. Each item is also read.
    """

    name: str
    count: float
    creates: Mapping[str, float] = field(default_factory=dict)
    changes: Mapping[str, float] = field(default_factory=dict)
    deletes: Mapping[str, float] = field(default_factory=dict)
    idempotent: float = 0


@dataclass(frozen=True)
class StreamTraffic:
    """How the stream's records come.

    Args:
        shards: open shards of the stream: 4 for a new table, more with warm throughput.
        hours_a_day: how long there is traffic. With the same number of records, batches are larger
            if they come in less time.
        batch_records: records in one batch of the projector; by default computed from the rate and
            the window.
        window_seconds: the projector's batching window (``project_window_seconds``).
        rollups: runs of the rollup; by default one a minute.
        dirty_shards: the setting of the stack.
    """

    shards: float = 4
    hours_a_day: float = 24
    batch_records: float | None = None
    window_seconds: float = PROJECT_WINDOW_SECONDS
    rollups: float | None = None
    dirty_shards: int = 16


@dataclass(frozen=True)
class Assumptions:
    """What neither the declarations nor the traffic determine.

    Args:
        cache_misses: the share of readings that a function instance's cache of two seconds does
            not answer: polls of votes, names of related items of searches.
        shard_hours: the lifetime of a shard of the stream. A tally has a slot for each shard, which
            is folded later.
        api_ms: processing time of a request.
        batch_ms, record_ms: processing time of a batch of the projector or the archive, and of
            each record in it.
        scheduled_ms: processing time of a run of a scheduled function.
        request_log_bytes, run_log_bytes: log lines of a request, and of an invocation of any
            other function.
    """

    cache_misses: float = 0.1
    shard_hours: float = 4
    api_ms: float = 30
    batch_ms: float = 50
    record_ms: float = 2
    scheduled_ms: float = 100
    request_log_bytes: float = 1_500
    run_log_bytes: float = 560


@dataclass(frozen=True)
class Traffic:
    """The traffic of a stack in so many ``days``."""

    days: float = MONTH_DAYS
    stream: StreamTraffic = StreamTraffic()
    assumptions: Assumptions = Assumptions()
    entities: Mapping[str, EntityTraffic] = field(default_factory=dict)
    transactions: tuple[TransactionTraffic, ...] = ()


def parse_traffic(data: Mapping[str, Any]) -> Traffic:
    """Read the content of a traffic file.

    Raises:
        TrafficError: names the first value that is unknown, missing or wrong.
    """
    traffic: Traffic = _parse_value(Traffic, data, "")
    return traffic


def _parse_value(kind: Any, value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _parse_table(kind, value, path)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if value is None else _parse_value(arguments[0], value, path)
    if origin is tuple:
        elements = _expect(list, value, path)
        return tuple(
            _parse_value(arguments[0], element, f"{path}[{place}]")
            for place, element in enumerate(elements)
        )
    if origin is Literal:
        if value not in arguments:
            raise TrafficError(f"{path} is {value!r}; it can be {', '.join(map(str, arguments))}")
        return value
    if origin is not None:  # a mapping
        table = _expect(Mapping, value, path)
        if arguments[1] is Any:
            return dict(table)
        return {key: _parse_value(arguments[1], v, _join(path, key)) for key, v in table.items()}
    if kind in {float, int}:
        return _parse_number(kind, value, path)
    return _expect(kind, value, path)


def _parse_table(kind: Any, value: Any, path: str) -> Any:
    table = _expect(Mapping, value, path)
    hints = typing.get_type_hints(kind)
    for name in table:
        if name not in hints:
            near = get_close_matches(name, hints, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(hints)}"
            raise TrafficError(f"{_join(path, name)} is unknown{hint}")
    for spec in dataclasses.fields(kind):
        required = spec.default is spec.default_factory is dataclasses.MISSING
        if required and spec.name not in table:
            raise TrafficError(f"{_join(path, spec.name)} is missing")
    return kind(**{n: _parse_value(hints[n], v, _join(path, n)) for n, v in table.items()})


def _parse_number(kind: type, value: Any, path: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or value < 0 or (kind is int and value != int(value)):
        what = "a whole number" if kind is int else "a number"
        raise TrafficError(f"{path} is {value!r}, not {what} of 0 or more")
    return kind(value)  # type: ignore[no-any-return]


def _expect(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, kind):
        names = {Mapping: "a table", list: "a list", str: "text", bool: "true or false"}
        raise TrafficError(f"{path or 'the file'} is {value!r}, not {names.get(kind, kind)}")
    return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
