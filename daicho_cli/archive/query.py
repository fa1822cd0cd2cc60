"""``daicho archive query``: archived items as table, JSON or CSV; decimals as the API has them."""

from __future__ import annotations

import csv
import datetime as dt
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from decimal import Decimal, InvalidOperation
from itertools import islice
from math import inf, isfinite
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from daicho.archive.reader import Selection
from daicho.declare.entity import Entity
from daicho.declare.rules.declared_places import list_decimal_fields, list_declared_places
from daicho.derive.events import CAUSE_MARK, QUIET_MARK
from daicho.items.json_pairs import DECIMAL_TEXT, replace_exponents
from daicho.items.mapper import make_adapter
from daicho.layout.repairs import REPAIR_MARK
from daicho.storage.scales import SCALES, count_places, restore_scales
from daicho_cli.archive.session import (
    ArchiveSession,
    Entities,
    KeyParts,
    Since,
    Tenant,
    Until,
    parse_selection,
    show_progress,
)
from daicho_cli.archive.sql import QueryResult, run_statement, select_rows
from daicho_cli.options import LOCAL, StackFile, Stage
from daicho_cli.terminal import INCOMPLETE, SUCCESS, end_on_errors, print_message

Declared = Mapping[str, type[Entity]]
"""The current declarations by name."""
_KEYS = ("PK", "SK", "GSI1PK", "GSI1SK")
_OURS = frozenset(
    {*_KEYS, "type", "gen", "ttl", "_restored", REPAIR_MARK, SCALES, QUIET_MARK, CAUSE_MARK}
)
"""The attributes that the library adds to the fields of an item."""
MAX_DIGITS = 38
"""The maximum of significant digits of a number in DynamoDB."""


def format_item(item: Mapping[str, Any], entity: type[Entity] | None) -> dict[str, Any]:
    """The fields of an archived image by name, and its other attributes that are not our own.

    ``entity``: its current declaration. An old row may be anything: what does not fit it is shown
    as it is stored.
    """
    values = {
        name: to_plain(value, _read_decimal)
        for name, value in sorted(item.items())
        if name not in _OURS
    }
    # The attribute with the scales may be of another form.
    with suppress(ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        values = restore_scales(values, item, list_declared_places(entity) if entity else {})
    return {name: _format_field(entity, name, value) for name, value in values.items()}


def to_plain(value: Any, read_number: Callable[[str], Any] | None = None) -> Any:
    """Convert an attribute value into a JSON value; any other value stays unchanged.

    Sets become sorted lists, binary values stay base64. ``read_number`` converts numbers; by
    default `format_number`.
    """
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    read = read_number or (lambda digits: format_number(_read_decimal(digits)))
    ((kind, content),) = value.items()
    match kind, content:
        case (("S" | "B" | "BOOL"), _):
            return content
        case "NULL", _:
            return None
        case "N", str():
            return read(content)
        case "M", Mapping():
            return {name: to_plain(member, read) for name, member in content.items()}
        case "L", list():
            return [to_plain(element, read) for element in content]
        case (("SS" | "BS"), list()):
            return sorted(content)
        case "NS", list():
            numbers = [format_number(_read_decimal(digits)) for digits in content]
            return sorted(numbers, key=lambda number: (str(type(number)), number))
        case _:
            return value


def format_number(value: Any) -> int | float | str:
    """A number as JSON; as text with all its digits where a reader would change it.

    These are numbers with zeros at the end of their places, and those that no float holds.
    """
    if not isinstance(value, Decimal):
        return str(value)
    if count_places(value) and value.as_tuple().digits[-1] == 0:
        return str(value)
    if _is_whole(value):
        return int(value)
    near = _find_float(value)
    return str(value) if near is None else near


def _read_decimal(digits: str) -> Decimal | str:
    """The digits of a number, without zeros at the end of its places: DynamoDB has none."""
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return digits
    if _is_whole(value):
        return Decimal(int(value))
    near = _find_float(value)
    return value if near is None else Decimal(repr(near))


def _is_whole(value: Decimal) -> bool:
    return value.is_finite() and value.adjusted() < MAX_DIGITS and value == int(value)


def _find_float(value: Decimal) -> float | None:
    """The float that has exactly the value; None if there is none."""
    near = float(value) if value.is_finite() else inf
    return near if isfinite(near) and Decimal(repr(near)) == value else None


def _format_field(entity: type[Entity] | None, name: str, value: Any) -> Any:
    """A field whose numbers are decimals, as JSON."""
    if entity is not None and name in list_decimal_fields(entity) and value is not None:
        if entity.fields_[name].kind == "decimal":
            return f"{value:f}" if isinstance(value, Decimal) else _format_values(value)
        with suppress(ValueError):  # pydantic's errors too
            adapter = make_adapter(entity, name)
            known = adapter.validate_python(value)
            return replace_exponents(known, adapter.dump_python(known, mode="json"))
    return _format_values(value)


def _format_values(value: Any) -> Any:
    match value:
        case Decimal():
            return format_number(value)
        case dict():
            return {name: _format_values(member) for name, member in value.items()}
        case list():
            return [_format_values(element) for element in value]
        case _:
            return value


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
    return {"json": _print_json, "csv": _print_csv, "table": _print_table}[output](answer)


def format_records(answer: QueryResult, entities: Declared) -> Iterator[dict[str, Any]]:
    """Whole rows as JSON values: the content of an archived line, the item as plain values.

    ``entities``: the current declarations by name. A decimal is shown as the API shows it: as text,
    with its scale.
    """
    for row in answer.rows:
        record = dict(zip(answer.columns, row, strict=True))
        item = json.loads(record["item"])
        values = format_item(item, entities.get(record["entity"]))
        yield {
            "deleted_at": record["deleted_at"],
            "tenant": record["tenant"],
            "entity": record["entity"],
            "pk": to_plain(item.get("PK")),
            "sk": to_plain(item.get("SK")),
            "gen": record["gen"],
            "seq": record["seq"],
            "raw": bool(record["raw"]),
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
    unlimited = console.options.update(width=sys.maxsize)
    fits = console.measure(table, options=unlimited).maximum <= console.width
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
    text = json.dumps(value, ensure_ascii=False, default=_encode_value)
    return text.encode(errors="replace").decode()


def _encode_value(value: Any) -> Any:
    """Convert a value of a type that JSON does not have."""
    if isinstance(value, dt.date | dt.datetime | dt.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))


TABLE_ROWS = 100
"""The row limit of a table without ``--limit``; JSON and CSV have all rows."""


def query(  # noqa: PLR0913, PLR0917  # the command's options
    entity: Entities = None,
    tenant: Tenant = None,
    key: KeyParts = None,
    since: Since = None,
    until: Until = None,
    sql: Annotated[
        str | None,
        typer.Option(
            help="A SELECT statement over the selected rows: SELECT … FROM archive.",
        ),
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="The output format.")] = "table",
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"The most rows. Default: {TABLE_ROWS} in a table, otherwise all."
        ),
    ] = None,
    stage: Stage = None,
    stack: StackFile = LOCAL,
) -> None:
    """Show archived items by entity, tenant, key or time of deletion.

    Only the partitions that can contain these rows are read, so select entities and times. The
    number of objects and bytes is printed on stderr. An object that cannot be read is reported and
    skipped. Exit code 0: all was read. 1: an object was skipped. 2: the command could not run.
    """
    with end_on_errors("archive query"):
        session = ArchiveSession.find(stage, stack)
        selection = parse_selection(
            session.ledger, entities=entity, tenant=tenant, key=key, since=since, until=until
        )
        entities = sorted(selection.folders or session.archive.list_entities())
        max_rows = TABLE_ROWS if limit is None and output == "table" and sql is None else limit
        if sql is None:
            statement = select_rows(None if max_rows is None else max_rows + 1)
        else:
            statement = _strip_semicolon(sql)
        broken: list[str] = []
        more: list[bool] = []
        with _read_and_run(session, selection, statement, broken) as result:
            answer, records = result, format_records(result, session.find_entities())
            if sql is None and output == "json":
                answer = QueryResult(RECORD, (list(record.values()) for record in records))
            elif sql is None:
                fields = session.list_fields(entities)
                columns = [*HEAD, *fields, MORE]
                answer = QueryResult(columns, (_flatten(record, fields) for record in records))
            rows = print_answer(limit_rows(answer, max_rows, more), output)
    cut = f" (there are more than --limit {max_rows})" if any(more) else ""
    print_message(f"{rows:,} rows{cut}")
    raise typer.Exit(INCOMPLETE if broken else SUCCESS)


@contextmanager
def _read_and_run(
    session: ArchiveSession, selection: Selection, sql: str, broken: list[str]
) -> Iterator[QueryResult]:
    """Run a statement over the selected rows; print what was read and what cannot be read."""

    def report_broken(name: str, error: object) -> None:
        broken.append(name)
        print_message(f"skipped: {name}: {error}")

    with ExitStack() as stack:
        with show_progress(session, "reading the archive"):
            rows = session.archive.read_rows(selection, report_broken)
            answer = stack.enter_context(run_statement(rows, sql))
        print_message(f"{session.reads}, checked and read")
        yield answer


def _strip_semicolon(sql: str) -> str:
    """The caller's statement, without the semicolon at its end."""
    return sql.strip().rstrip(";").strip()
