"""The SQL of a query: one statement for both engines. Pure.

The statement asks the relation `ROWS`, whose columns are an archived line's own. DuckDB finds the
selected rows in a table of that name; for Athena the selection stands before the statement, as a
common table expression over the Glue table, so that partitions are pruned. Values never become
part of the text: they are parameters.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

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
    """The statement of a query without one: rows as they are, in order of deletion."""
    most = "" if limit is None else f" LIMIT {limit:d}"
    return f"SELECT {', '.join(COLUMNS)} FROM {ROWS} ORDER BY deleted_at, seq{most}"  # noqa: S608


def select_statement(
    sql: str,
    table: tuple[str, str],
    selection: Selection,
    entities: Sequence[str],
    without: Sequence[str] = (),
) -> Statement:
    """A statement over the Glue table ``table`` (database and name), in Athena's SQL.

    ``entities``: their partitions alone are read. ``without``: addresses of objects that are
    passed over, as they cannot be read.
    """
    where, parameters = _render_condition(selection, entities, without)
    # dt comes along: to group by the day of deletion costs nothing.
    columns, home = ", ".join((*COLUMNS, "dt")), ".".join(map(_render_name, table))
    selected = f"SELECT {columns} FROM {home} WHERE {where}"  # noqa: S608 - values are parameters
    common = f"{ROWS} AS ({selected})"
    if found := _RECURSIVE.match(sql):
        whole = f"WITH RECURSIVE {common},{sql[found.end() :]}"
    elif found := _WITH.match(sql):
        whole = f"WITH {common},{sql[found.end() :]}"
    else:
        whole = f"WITH {common} {sql}"
    # The parameters stand in the text before anything else does.
    return Statement(whole, parameters)


def _render_condition(
    selection: Selection, entities: Sequence[str], without: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    days = selection.days
    found: list[tuple[str, tuple[str, ...]]] = [
        (f"entity IN ({', '.join('?' * len(entities))})", tuple(entities))
    ]
    if days.first > dt.date.min:
        found.append(("dt >= ?", (days.first.isoformat(),)))
    if days.last < dt.date.max:
        found.append(("dt <= ?", (days.last.isoformat(),)))
    if selection.tenant is not None:
        found.append(("tenant = ?", (selection.tenant,)))
    if selection.since:
        found.append(("deleted_at >= ?", (keys.render_instant(selection.since),)))
    if selection.until:
        found.append(("deleted_at < ?", (keys.render_instant(selection.until),)))
    if selection.key:
        for name, value in (("PK", selection.key.pk), ("SK", selection.key.sk)):
            found.append((f"json_extract_scalar(item, '$.{name}.S') = ?", (value,)))
    if without:
        found.append((f'"$path" NOT IN ({", ".join("?" * len(without))})', tuple(without)))
    conditions, values = zip(*found, strict=True)
    return " AND ".join(conditions), tuple(each for some in values for each in some)


def _render_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def render_literal(value: str) -> str:
    """A text as Athena takes an execution parameter: a literal, whatever the text holds."""
    return "'" + value.replace("'", "''") + "'"
