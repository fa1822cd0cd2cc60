"""The SQL of a query: one statement for both engines. Pure.

The statement reads the relation `ROWS`, which has the columns of an archived line. In DuckDB the
selected rows are in a table of that name. For Athena the selection precedes the statement, as a
common table expression over the Glue table, so that partitions are pruned. Values never become
part of the text: they are parameters.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from daicho.archive.reader import Selection
from daicho.storage import keys

ROWS = "archive"
COLUMNS = ("tenant", "entity", "gen", "deleted_at", "seq", "raw", "item")
_WITH = re.compile(r"\s*with\b(?!\s+recursive\b)", re.IGNORECASE)
_RECURSIVE = re.compile(r"\s*with\s+recursive\b", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """SQL, and its parameters in order."""

    sql: str
    parameters: tuple[str, ...] = ()


def select_rows(limit: int | None) -> str:
    """The default statement of a query: unchanged rows, in order of deletion."""
    suffix = "" if limit is None else f" LIMIT {limit:d}"
    return f"SELECT {', '.join(COLUMNS)} FROM {ROWS} ORDER BY deleted_at, seq{suffix}"  # noqa: S608


def select_statement(
    sql: str,
    table: tuple[str, str],
    selection: Selection,
    entities: Sequence[str],
    without: Sequence[str] = (),
) -> Statement:
    """A statement over the Glue table ``table`` (database and name), in Athena's SQL.

    ``entities``: only their partitions are read. ``without``: addresses of unreadable objects,
    which the statement skips.
    """
    where, parameters = _render_condition(selection, entities, without)
    # dt is included: grouping by the day of deletion costs nothing.
    columns, name = ", ".join((*COLUMNS, "dt")), ".".join(map(_render_name, table))
    selection_sql = f"SELECT {columns} FROM {name} WHERE {where}"  # noqa: S608 - values are parameters
    common = f"{ROWS} AS ({selection_sql})"
    if match := _RECURSIVE.match(sql):
        statement = f"WITH RECURSIVE {common},{sql[match.end() :]}"
    elif match := _WITH.match(sql):
        statement = f"WITH {common},{sql[match.end() :]}"
    else:
        statement = f"WITH {common} {sql}"
    # The placeholders of these parameters precede everything else in the text.
    return Statement(statement, parameters)


def _render_condition(
    selection: Selection, entities: Sequence[str], without: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    days = selection.days
    terms: list[tuple[str, tuple[str, ...]]] = [
        (f"entity IN ({', '.join('?' * len(entities))})", tuple(entities))
    ]
    if days.first > dt.date.min:
        terms.append(("dt >= ?", (days.first.isoformat(),)))
    if days.last < dt.date.max:
        terms.append(("dt <= ?", (days.last.isoformat(),)))
    if selection.tenant is not None:
        terms.append(("tenant = ?", (selection.tenant,)))
    if selection.since:
        terms.append(("deleted_at >= ?", (keys.render_instant(selection.since),)))
    if selection.until:
        terms.append(("deleted_at < ?", (keys.render_instant(selection.until),)))
    if selection.key:
        for name, value in (("PK", selection.key.pk), ("SK", selection.key.sk)):
            terms.append((f"json_extract_scalar(item, '$.{name}.S') = ?", (value,)))
    if without:
        terms.append((f'"$path" NOT IN ({", ".join("?" * len(without))})', tuple(without)))
    conditions, values = zip(*terms, strict=True)
    return " AND ".join(conditions), tuple(chain.from_iterable(values))


def _render_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def render_literal(value: str) -> str:
    """An execution parameter for Athena: any text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"
