"""Answers as a table, JSON or CSV; items as plain values, for every kind of value."""

from __future__ import annotations

import csv
import datetime as dt
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, Literal

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from daicho.items.json_pairs import DECIMAL_TEXT
from daicho_cli.archive.item_values import Entities, format_item, to_plain
from daicho_cli.archive.query_result import QueryResult

_LINE_END = "\r\n"
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""How a formula begins, also in full width."""
Output = Literal["table", "json", "csv"]
HEAD = ("deleted_at", "tenant", "entity", "pk", "sk")
MORE = "more"
"""The column of the values of an item that belong to no current field of its entity."""
RECORD = (*HEAD, "gen", "seq", "raw", "item")
_MAX_WIDTH = 60


def print_answer(answer: QueryResult, output: Output) -> int:
    """Print an answer; return its number of rows."""
    match output:
        case "json":
            return _print_json(answer)
        case "csv":
            return _print_csv(answer)
        case "table":
            return _print_table(answer)


def format_items(answer: QueryResult, fields: Sequence[str], entities: Entities) -> QueryResult:
    """Whole rows for a human reader: a column for each field, and one for all other values."""
    rows = (_flatten(row, fields) for row in format_records(answer, entities))
    return QueryResult([*HEAD, *fields, MORE], rows)


def format_rows(answer: QueryResult, entities: Entities) -> QueryResult:
    """Whole rows for JSON output: the item is one value."""
    records = format_records(answer, entities)
    return QueryResult(RECORD, (list(record.values()) for record in records))


def skip_unreadable(answer: QueryResult, skipped: list[str]) -> QueryResult:
    """Whole rows without the lines that are not JSON; ``skipped`` receives an entry for each.

    Athena returns such a line as a row of nulls.
    """
    place = answer.columns.index("item")

    def rows() -> Iterator[Sequence[Any]]:
        for row in answer.rows:
            if row[place] is None:
                skipped.append("a line")
            else:
                yield row

    return QueryResult(answer.columns, rows())


def format_records(answer: QueryResult, entities: Entities) -> Iterator[dict[str, Any]]:
    """Whole rows as JSON values: the content of an archived line, the item as plain values.

    ``entities``: the current declarations by name. A decimal is shown as the API shows it: as text,
    with its scale.
    """
    for row in answer.rows:
        record = dict(zip(answer.columns, row, strict=True))
        item = json.loads(record["item"])
        values = format_item(item, entities.get(record["entity"]))
        gen = record["gen"]
        yield {
            "deleted_at": record["deleted_at"],
            "tenant": record["tenant"],
            "entity": record["entity"],
            "pk": to_plain(item.get("PK")),
            "sk": to_plain(item.get("SK")),
            "gen": None if gen is None else int(gen),
            "seq": record["seq"],
            "raw": record["raw"] in (True, "true"),
            "item": values,
        }


def _flatten(record: Mapping[str, Any], fields: Sequence[str]) -> list[Any]:
    item = record["item"]
    more = {name: value for name, value in item.items() if name not in fields}
    return [*(record[name] for name in HEAD), *(item.get(name) for name in fields), more or None]


def _print_json(answer: QueryResult) -> int:
    """Write an array with one row a line; it can be read line by line and as a whole."""
    count = 0
    for row in answer.rows:
        line = dict(zip(answer.columns, row, strict=True))
        sys.stdout.write(("[\n" if not count else ",\n") + _format_text(line))
        count += 1
    sys.stdout.write("\n]\n" if count else "[]\n")
    return count


class _UnixLines:
    """Writes rows that end with `_LINE_END` to the standard output, with a line feed instead."""

    def write(self, row: str) -> None:
        """Write one row."""
        sys.stdout.write(f"{row.removesuffix(_LINE_END)}\n")


def _print_csv(answer: QueryResult) -> int:
    # A carriage return is quoted only if it ends the lines. Alone it would begin a row.
    out = csv.writer(_UnixLines(), lineterminator=_LINE_END)
    out.writerow(map(_escape_formula, answer.columns))
    count = 0
    for row in answer.rows:
        out.writerow([_escape_formula(_format_cell(value)) for value in row])
        count += 1
    return count


def _escape_formula(cell: str) -> str:
    """A cell that a spreadsheet shows as text: what begins as a formula gets an apostrophe.

    Source: "CSV Injection", OWASP. A negative number is no formula.
    """
    is_formula = cell.lstrip().startswith(_FORMULA) or cell.startswith(("\t", "\r", "\n"))
    return f"'{cell}" if is_formula and not DECIMAL_TEXT.fullmatch(cell) else cell


def _print_table(answer: QueryResult) -> int:
    """Print a table of the columns that have values, without the keys.

    If the terminal is too narrow for the table, each row is printed as a block.
    """
    rows = [[_format_cell(value).translate(_CONTROLS) for value in row] for row in answer.rows]
    if not rows:
        return 0
    places = [
        place
        for place, column in enumerate(answer.columns)
        if any(row[place] for row in rows) and column not in {"pk", "sk"}
    ]
    names = [answer.columns[place] for place in places]
    # Plain text: brackets in a value are no markup, and control characters are no commands.
    texts = [[Text(row[place]) for place in places] for row in rows]
    console = Console()
    table = _draw_table(names, texts)
    fits = _measure_columns(names, texts) <= console.width
    for block in [table] if fits else _draw_blocks(names, texts):
        console.print(block)
    return len(rows)


def _draw_table(names: Sequence[str], rows: Sequence[Sequence[Text]]) -> Table:
    table = Table()
    for name in names:
        table.add_column(name, overflow="fold", max_width=_MAX_WIDTH)
    for row in rows:
        table.add_row(*row)
    return table


def _measure_columns(names: Sequence[str], rows: Sequence[Sequence[Text]]) -> int:
    """The width of a table that folds only the values that are wider than `_MAX_WIDTH`."""
    widths = [
        max(Text(name).cell_len, *(min(_measure_line(row[place]), _MAX_WIDTH) for row in rows))
        for place, name in enumerate(names)
    ]
    return sum(widths) + 3 * len(widths) + 1


def _measure_line(text: Text) -> int:
    return max((line.cell_len for line in text.split(allow_blank=True)), default=0)


def _draw_blocks(names: Sequence[str], rows: Sequence[Sequence[Text]]) -> Iterator[Rule | Table]:
    """A block for each row, with a line for each value; empty values are left out."""
    for number, row in enumerate(rows, 1):
        yield Rule(str(number), align="left", style="dim")
        block = Table.grid(padding=(0, 2))
        block.add_column(style="bold", no_wrap=True)
        block.add_column(overflow="fold")
        for name, text in zip(names, row, strict=True):
            if text:
                block.add_row(name, text)
        yield block


def limit_rows(answer: QueryResult, limit: int | None, more: list[bool]) -> QueryResult:
    """The first rows; ``more`` receives whether other rows exist."""
    if limit is None:
        return answer

    def rows() -> Iterator[Sequence[Any]]:
        yield from islice(answer.rows, limit)
        more.append(next(answer.rows, None) is not None)

    return QueryResult(answer.columns, rows())


def _format_cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.encode(errors="replace").decode()
        case bool():
            return "true" if value else "false"
        case Mapping() | list():
            return _format_text(value)
        case _:
            return str(value)


def _format_text(value: Any) -> str:
    return (
        json.dumps(value, ensure_ascii=False, default=_encode_value)
        .encode(errors="replace")
        .decode()
    )


def _encode_value(value: Any) -> Any:
    """Convert a value of a type that JSON does not have."""
    if isinstance(value, Decimal):
        return str(value)  # its type depends on the column and not on the value
    if isinstance(value, dt.date | dt.datetime | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
