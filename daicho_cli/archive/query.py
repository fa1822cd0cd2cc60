"""``daicho archive query``: archived items as text or JSON; decimals as the API has them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from heapq import nsmallest
from itertools import islice
from math import inf, isfinite
from operator import attrgetter
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from daicho.archive.reader import Selection
from daicho.archive.row_format import ArchivedRow
from daicho.declare.entity import Entity
from daicho.declare.rules.declared_places import list_decimal_fields, list_declared_places
from daicho.derive.events import CAUSE_MARK, QUIET_MARK
from daicho.items.json_pairs import replace_exponents
from daicho.items.mapper import make_adapter
from daicho.layout.marks import REPAIR_MARK
from daicho.storage import keys
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


Output = Literal["table", "json"]
HEAD = ("deleted_at", "tenant", "entity")
MORE = "more"
"""The values of an item that belong to no current field of its entity."""


def format_row(row: ArchivedRow, entities: Declared) -> dict[str, Any]:
    """A whole row as JSON values: the content of an archived line, the item as plain values.

    ``entities``: the current declarations by name. A decimal is shown as the API shows it: as text,
    with its scale.
    """
    return {
        "deleted_at": keys.render_instant(row.deleted_at),
        "tenant": row.tenant,
        "entity": row.entity,
        "pk": to_plain(row.item.get("PK")),
        "sk": to_plain(row.item.get("SK")),
        "gen": row.gen,
        "seq": row.seq,
        "raw": row.raw,
        "item": format_item(row.item, entities.get(row.entity)),
    }


def print_json_lines(records: Iterable[Mapping[str, Any]]) -> None:
    """Print an array with one row a line; it can be read line by line and as a whole."""
    begin = "[\n"
    for record in records:
        sys.stdout.write(begin + _format_text(record))
        begin = ",\n"
    sys.stdout.write("[]\n" if begin == "[\n" else "\n]\n")


def print_blocks(records: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> None:
    """Print a block for each row, with a line for each value; empty values are left out.

    Values are plain text: brackets are no markup, and control characters are no commands.
    """
    console = Console()
    for number, record in enumerate(records, 1):
        console.print(Rule(str(number), align="left", style="dim"))
        item = record["item"]
        more = {name: value for name, value in item.items() if name not in fields}
        values = {name: record[name] for name in HEAD} | {name: item.get(name) for name in fields}
        block = Table.grid(padding=(0, 2))
        block.add_column(style="bold", no_wrap=True)
        block.add_column(overflow="fold")
        for name, value in {**values, MORE: more or None}.items():
            if text := _format_cell(value).translate(_CONTROLS):
                block.add_row(name, Text(text))
        console.print(block)


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    return _format_text(value)


def _format_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()


_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))


TABLE_ROWS = 100
"""The row limit of a table without ``--limit``; JSON has all rows."""


def query(  # noqa: PLR0913, PLR0917  # the command's options
    entity: Entities = None,
    tenant: Tenant = None,
    key: KeyParts = None,
    since: Since = None,
    until: Until = None,
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
        max_rows = TABLE_ROWS if limit is None and output == "table" else limit
        broken: list[str] = []
        rows = _read_rows(session, selection, max_rows, broken)
        declared = session.find_entities()
        records = (format_row(row, declared) for row in islice(rows, max_rows))
        if output == "json":
            print_json_lines(records)
        else:
            print_blocks(records, session.list_fields(entities))
    is_cut = max_rows is not None and len(rows) > max_rows
    cut = f" (there are more than --limit {max_rows})" if is_cut else ""
    print_message(f"{len(rows[:max_rows]):,} rows{cut}")
    raise typer.Exit(INCOMPLETE if broken else SUCCESS)


def _read_rows(
    session: ArchiveSession, selection: Selection, max_rows: int | None, broken: list[str]
) -> list[ArchivedRow]:
    """The selected rows in order of deletion: one more than ``max_rows``, or all.

    Only these are in memory at once. ``broken`` receives what cannot be read.
    """

    def report_broken(name: str, error: object) -> None:
        broken.append(name)
        print_message(f"skipped: {name}: {error}")

    with show_progress(session, "reading the archive"):
        found = session.archive.read_rows(selection, report_broken)
        order = attrgetter("deleted_at", "seq")
        if max_rows is None:
            rows = sorted(found, key=order)
        else:
            rows = nsmallest(max_rows + 1, found, key=order)
    print_message(f"{session.reads}, checked and read")
    return rows
