"""The options of the archive commands, and the selection of rows that they describe."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from daicho.archive.reader import Selection
from daicho.layout import item_keys
from daicho.plan import EntityPlan, Ledger
from daicho.storage import attributes
from daicho.storage.item_key import ItemKey
from daicho_cli.options import OptionError, check_tenant

YEARS = range(1970, 9999)
"""The years of a period. The ends of the calendar have no day before or after them."""
_DAY = 10
"""The length of a day without a time."""

Entities = Annotated[
    list[str] | None,
    typer.Option("--entity", help="Only this entity, for example Message. May be repeated."),
]
Tenant = Annotated[str | None, typer.Option(help="Only this tenant.")]
KeyParts = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        metavar="FIELD=VALUE",
        help="Only the item with this key: one --key a key field; with --entity and --tenant.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Deleted at or after: 2026-11-21, or 2026-11-21T09:30:00Z."),
]
Until = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Deleted until: a day is included, a time is excluded."),
]
Apply = Annotated[
    bool, typer.Option("--apply/--dry-run", help="Apply the changes, or only report them.")
]
StateFile = Annotated[
    Path | None,
    typer.Option(
        "--state", help="The progress file. Default: a file in this folder, named by the request."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def parse_selection(
    ledger: Ledger,
    *,
    entities: Sequence[str] | None,
    tenant: str | None,
    key: Sequence[str] | None,
    since: str | None,
    until: str | None,
) -> Selection:
    """The selection that the options describe.

    Raises:
        OptionError: an option is wrong; the message names the option and the problem.
    """
    names = parse_entities(ledger, entities)
    check_tenant(tenant)
    begin = _parse_bound(since, "--since")
    end = _parse_bound(until, "--until", end_of_day=True)
    if begin and end and begin >= end:
        raise OptionError(f"--since {since} is not before --until {until}")
    item = None
    if key:
        if tenant is None or len(names) != 1:
            raise OptionError("--key needs --tenant and one --entity")
        item = parse_item_key(ledger, names[0], tenant, key)
    return Selection(names, tenant, item, begin, end)


def parse_entities(ledger: Ledger, entities: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the entities, each once.

    Raises:
        OptionError: an entity is not archived, or does not exist.
    """
    archived = ledger.archived_types
    for name in entities or ():
        if name not in archived:
            choices = ", ".join(archived) or "none"
            raise OptionError(f"--entity {name!r} is not archived; these are: {choices}")
    return tuple(dict.fromkeys(entities or ()))


def parse_instant(text: str | None, option: str, *, end_of_day: bool = False) -> dt.datetime | None:
    """Parse a time (UTC), or a day: its begin, or its end with ``end_of_day``.

    Raises:
        OptionError: the text is neither.
    """
    if text is None:
        return None
    try:
        if len(text) == _DAY:
            day = dt.date.fromisoformat(text) + dt.timedelta(days=int(end_of_day))
            return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)
        instant = dt.datetime.fromisoformat(text)
        if instant.tzinfo is not None:
            return instant.astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise OptionError(
            f"{option} {text!r} is no day (2026-11-21) and no time (2026-11-21T09:30:00Z)"
        ) from error
    raise OptionError(f"{option} {text!r} names no time zone: end it with Z or +09:00")


def check_year(day: dt.date, option: str) -> None:
    """Check that a day is in the supported years.

    Raises:
        OptionError: the day is outside of them.
    """
    if day.year not in YEARS:
        raise OptionError(f"{option} {day}: from {YEARS[0]} to {YEARS[-1]}")


def _parse_bound(text: str | None, option: str, *, end_of_day: bool = False) -> dt.datetime | None:
    instant = parse_instant(text, option, end_of_day=end_of_day)
    if instant is not None:
        check_year(instant, option)
    return instant


def parse_item_key(ledger: Ledger, entity: str, tenant: str, parts: Sequence[str]) -> ItemKey:
    """Build the key of an item from its key fields.

    Raises:
        OptionError: a field is missing, unknown, or of another kind.
    """
    plan = ledger.current_generation(entity).plan
    key_fields = list_key_fields(plan)
    texts: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or name not in key_fields:
            raise OptionError(
                f"--key {part!r}: {entity} has the key fields {', '.join(key_fields)}"
            )
        if name in texts:
            raise OptionError(f"--key {name} is given twice")
        texts[name] = value
    if missing := [name for name in key_fields if name not in texts]:
        raise OptionError(f"--key lacks {', '.join(missing)} of {entity}")
    try:
        values = {name: _parse_value(plan.fields[name], value) for name, value in texts.items()}
        return item_keys.build_base_key(tenant, plan, attributes.to_image(values))
    except (ValueError, TypeError, KeyError) as error:
        raise OptionError(f"--key of {entity}: {error}") from error


def list_key_fields(plan: EntityPlan) -> tuple[str, ...]:
    """The fields of an entity's key."""
    key = plan.key
    more = (field for field in (key.shards, key.salt) if isinstance(field, str) and field)
    return tuple(dict.fromkeys((*key.partition, *key.sort, *more)))


def _parse_value(kind: str, text: str) -> object:
    match kind.removesuffix(" | None"):
        case "int":
            return int(text)
        case "date":
            return dt.date.fromisoformat(text)
        case "datetime":
            return parse_instant(text, "--key")
        case "bool":
            return {"true": True, "false": False}[text]
        case _:
            return text
