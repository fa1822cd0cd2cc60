"""The traffic of a period, usually a month: what a traffic file describes.

All numbers are of the whole period and of all tenants together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from daicho.errors import DaichoError
from daicho_cli.cost.footprint import PROJECT_WINDOW_SECONDS

Number = Annotated[float, Field(ge=0, strict=True)]
Whole = Annotated[int, Field(ge=0, strict=True)]
TABLE = ConfigDict(extra="forbid")
"""The configuration of a dataclass that is a table of a file."""


def describe_problem(error: ValidationError, keys: Iterable[str] = ()) -> str:
    """The first value that is wrong, missing or unknown. ``keys``: that a table can have."""
    problem = error.errors()[0]
    path = ".".join(map(str, problem["loc"]))
    if problem["type"] != "unexpected_keyword_argument":
        return f"{path}: {problem['msg']}"
    near = get_close_matches(str(problem["loc"][-1]), keys, 1)
    return f"{path} is unknown" + (f"; did you mean {near[0]!r}?" if near else "")


MONTH_DAYS = 30.0


class TrafficError(DaichoError):
    """A traffic file that cannot be read, or that names what is not declared."""


@dataclass(frozen=True, config=TABLE)
class ChangeTraffic:
    """Changes of some ``fields``, by PATCH or by PUT of the whole item."""

    count: Number
    fields: Mapping[str, Any]
    method: Literal["PATCH", "PUT"] = "PATCH"


@dataclass(frozen=True, config=TABLE)
class PageTraffic:
    """Pages of a list. ``items``: the number that a page shows; ``limit``: the requested number.

    ``keyword``: of a search. ``copied``: only copied fields are requested, so that a page is read
    from the index rows.
    """

    count: Number
    items: Number = 20
    limit: Whole = 100
    keyword: str = ""
    copied: bool = False


@dataclass(frozen=True, config=TABLE)
class FigureTraffic:
    """Figures of an aggregate or a fast counter.

    Args:
        groups: the number of groups that are counted in at the same time; by default those of the
            examples. Events are assumed to be spread evenly over them.
        new_groups: how many groups are counted in for the first time; by default all.
        reads: readings of one figure, as rolled up last.
        live: readings of one figure, summed up now.
        ranks: readings of one figure with its rank.
        rank: the rank that is read on average.
        tops: pages of the ranking. ``top_items``: the number of members on a page.
        rankings: the number of rankings that the groups belong to: for votes, of polls.
        votes: votes of a fast counter. ``slots``: the number of slots of each ranking.
    """

    groups: Number | None = None
    new_groups: Number | None = None
    reads: Number = 0
    live: Number = 0
    ranks: Number = 0
    rank: Number = 10
    tops: Number = 0
    top_items: Whole = 10
    rankings: Number = 1
    votes: Number = 0
    slots: Whole = 8


@dataclass(frozen=True, config=TABLE)
class SectionTraffic:
    """Changes and readings of single sections of split items."""

    changes: Number = 0
    reads: Number = 0


@dataclass(frozen=True, config=TABLE)
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

    items: Number = 0
    creates: Number = 0
    deletes: Number = 0
    expiries: Number = 0
    reads: Number = 0
    idempotent: Number = 0
    examples: tuple[Mapping[str, Any], ...] = ()
    changes: tuple[ChangeTraffic, ...] = ()
    pages: Mapping[str, PageTraffic] = field(default_factory=dict)
    figures: Mapping[str, FigureTraffic] = field(default_factory=dict)
    sections: SectionTraffic = SectionTraffic()
    object_bytes: Number = 0


@dataclass(frozen=True, config=TABLE)
class TransactionTraffic:
    """Requests of the domain's own that write several items at once.

    ``creates``, ``deletes`` and ``changes``: how many items of each entity; ``changes`` are those
    of the entity's first kind of changes. Each item is also read.
    """

    name: str
    count: Number
    creates: Mapping[str, Number] = field(default_factory=dict)
    changes: Mapping[str, Number] = field(default_factory=dict)
    deletes: Mapping[str, Number] = field(default_factory=dict)
    idempotent: Number = 0


@dataclass(frozen=True, config=TABLE)
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
    """

    shards: Number = 4
    hours_a_day: Number = 24
    batch_records: Number | None = None
    window_seconds: Number = PROJECT_WINDOW_SECONDS
    rollups: Number | None = None


@dataclass(frozen=True, config=TABLE)
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

    cache_misses: Number = 0.1
    shard_hours: Number = 4
    api_ms: Number = 30
    batch_ms: Number = 50
    record_ms: Number = 2
    scheduled_ms: Number = 100
    request_log_bytes: Number = 1_500
    run_log_bytes: Number = 560


@dataclass(frozen=True, config=TABLE)
class Traffic:
    """The traffic of a stack in so many ``days``.

    ``backup_days``: how long copies in another Region are kept; 0 without ``backup_vault``.
    """

    days: Number = MONTH_DAYS
    backup_days: Number = 0
    stream: StreamTraffic = StreamTraffic()
    assumptions: Assumptions = Assumptions()
    entities: Mapping[str, EntityTraffic] = field(default_factory=dict)
    transactions: tuple[TransactionTraffic, ...] = ()


TABLES = (
    *(Traffic, StreamTraffic, Assumptions, EntityTraffic, TransactionTraffic),
    *(ChangeTraffic, PageTraffic, FigureTraffic, SectionTraffic),
)


def parse_traffic(data: Mapping[str, Any]) -> Traffic:
    """Read the content of a traffic file.

    Raises:
        TrafficError: names the first value that is unknown, missing or wrong.
    """
    try:
        return TypeAdapter(Traffic).validate_python(data)
    except ValidationError as error:
        keys = [spec.name for table in TABLES for spec in fields(table)]
        raise TrafficError(describe_problem(error, keys)) from error
