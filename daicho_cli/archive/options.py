"""Which rows a command is about: what its options say, as a selection."""

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
from daicho.storage.keys import TENANT
from daicho_cli.aws.stacks import STACK_FILE

YEARS = range(1970, 9999)
"""Of a period: at the ends of the calendar there is no day before, or after."""
_DAY = 10
"""The length of a day without a time."""

Entities = Annotated[
    list[str] | None,
    typer.Option("--entity", help="Of this entity: Message. May be given several times."),
]
Tenant = Annotated[str | None, typer.Option(help="Of this tenant.")]
KeyParts = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        metavar="FIELD=VALUE",
        help="The item with this key, a --key for each field of it; with --entity and --tenant.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Deleted since: 2026-11-21, or 2026-11-21T09:30:00Z."),
]
Until = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Deleted until; a day is meant whole, a time exclusive."),
]
Apply = Annotated[
    bool, typer.Option("--apply/--dry-run", help="Do it, or only say what would be done.")
]
StateFile = Annotated[
    Path | None,
    typer.Option(
        "--state", help="Remembers how far it came. Default: a file here, named by the call."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document, no text.")]
Stage = Annotated[
    str | None, typer.Option(help="A deployed stage: dev, prod. Default: the local stack.")
]
StackFile = Annotated[
    Path,
    typer.Option("--stack", help="What names the local stack.", show_default=".local/stack.json"),
]
LOCAL = STACK_FILE


class OptionError(Exception):
    """Options that say nothing that could be meant."""


def parse_selection(
    ledger: Ledger,
    *,
    entities: Sequence[str] | None,
    tenant: str | None,
    key: Sequence[str] | None,
    since: str | None,
    until: str | None,
) -> Selection:
    """What the options select.

    Raises:
        OptionError: says which option is wrong, and how.
    """
    names = parse_entities(ledger, entities)
    if tenant is not None and not TENANT.fullmatch(tenant):
        raise OptionError(f"--tenant {tenant!r}: a-z, 0-9 and -, at most 63 characters")
    begin = _parse_bound(since, "--since")
    end = _parse_bound(until, "--until", whole=True)
    if begin and end and begin >= end:
        raise OptionError(f"--since {since} is not before --until {until}")
    item = None
    if key:
        if tenant is None or len(names) != 1:
            raise OptionError("--key needs --tenant and one --entity")
        item = parse_item_key(ledger, names[0], tenant, key)
    return Selection(names, tenant, item, begin, end)


def parse_entities(ledger: Ledger, entities: Sequence[str] | None) -> tuple[str, ...]:
    """The entities by name, each once.

    Raises:
        OptionError: one is not archived, or there is none of that name.
    """
    archived = ledger.archived_types
    for each in entities or ():
        if each not in archived:
            known = ", ".join(archived) or "none"
            raise OptionError(f"--entity {each!r} is not archived; these are: {known}")
    return tuple(dict.fromkeys(entities or ()))


def parse_moment(text: str | None, option: str, *, whole: bool = False) -> dt.datetime | None:
    """A time (UTC), or a day: its begin, or, if it is meant ``whole``, its end.

    Raises:
        OptionError: it is neither.
    """
    if text is None:
        return None
    try:
        if len(text) == _DAY:
            day = dt.date.fromisoformat(text) + dt.timedelta(days=int(whole))
            return dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC)
        found = dt.datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return found.astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:
        raise OptionError(
            f"{option} {text!r} is no day (2026-11-21) and no time (2026-11-21T09:30:00Z)"
        ) from error
    raise OptionError(f"{option} {text!r} names no time zone: end it with Z or +09:00")


def clamp_to_retention(day: dt.date, option: str) -> None:
    """Check that a day is one that can be reckoned with.

    Raises:
        OptionError: it is not.
    """
    if day.year not in YEARS:
        raise OptionError(f"{option} {day}: from {YEARS[0]} to {YEARS[-1]}")


def _parse_bound(text: str | None, option: str, *, whole: bool = False) -> dt.datetime | None:
    found = parse_moment(text, option, whole=whole)
    if found is not None:
        clamp_to_retention(found, option)
    return found


def parse_item_key(ledger: Ledger, entity: str, tenant: str, parts: Sequence[str]) -> ItemKey:
    """An item's key from the fields that make it up.

    Raises:
        OptionError: a field is missing, unknown, or of another kind.
    """
    plan = ledger.current_generation(entity).plan
    wanted = list_fields(plan)
    given: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or name not in wanted:
            raise OptionError(f"--key {part!r}: {entity} has the key fields {', '.join(wanted)}")
        if name in given:
            raise OptionError(f"--key {name} is given twice")
        given[name] = value
    if missing := [name for name in wanted if name not in given]:
        raise OptionError(f"--key lacks {', '.join(missing)} of {entity}")
    try:
        values = {name: _read(plan.fields[name], value) for name, value in given.items()}
        return item_keys.build_base_key(tenant, plan, attributes.to_image(values))
    except (ValueError, TypeError, KeyError) as error:
        raise OptionError(f"--key of {entity}: {error}") from error


def list_fields(plan: EntityPlan) -> tuple[str, ...]:
    """The fields that an entity's key is made of."""
    key = plan.key
    more = (each for each in (key.shards, key.salt) if isinstance(each, str) and each)
    return tuple(dict.fromkeys((*key.partition, *key.sort, *more)))


def _read(kind: str, text: str) -> object:
    match kind.removesuffix(" | None"):
        case "int":
            return int(text)
        case "date":
            return dt.date.fromisoformat(text)
        case "datetime":
            return parse_moment(text, "--key")
        case "bool":
            return {"true": True, "false": False}[text]
        case _:
            return text
