"""Rows of a file: read with their lines, and converted to images by the rules of `Book.create`."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from ulid import ULID

from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec, now
from daicho.derive.events import mark_quiet
from daicho.errors import Refusal, TenantClosed
from daicho.items.arguments import validate_value
from daicho.items.change_rules import check_change
from daicho.items.json_pairs import WrittenNumberError, check_written
from daicho.items.mapper import ItemFields, read_values
from daicho.items.rules import check_transitions
from daicho.layout.base_item import is_expired
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.plan import Ledger
from daicho.query.access import SYSTEM
from daicho.query.key_resolver import KeyResolver
from daicho.runtime.exact_json import (
    InexactNumberError,
    build_object,
    find_inexact,
    mark_number,
    refuse_constant,
)
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.scales import SCALES
from daicho.storage.table import Table
from daicho.web.schema.addresses import describe_unaddressable
from daicho.web.schema.models import list_key_names
from daicho.write.planner import ItemPlanner
from daicho_cli.load.checkpoint import LoadProgress

_BYTE_ORDER_MARK = "\ufeff"
HOOKS: dict[str, Any] = {
    "object_pairs_hook": build_object,
    "parse_constant": refuse_constant,
    "parse_float": mark_number,
}
"""How the parser reads what it would change in silence."""


@dataclass(frozen=True)
class NumberedRow:
    """One row: its line, its values or its problem, and the position after it in the file.

    ``field``: the one that the problem is about.
    """

    line: int
    end: int
    values: dict[str, Any] | None
    raw: str = ""
    problem: str = ""
    field: str | None = None


def read_rows(path: Path, start: int = 0, line: int = 1) -> Iterator[NumberedRow]:
    """The rows of an NDJSON file from a position, the ``end`` of an earlier row."""
    with path.open("rb") as file:
        file.seek(start)
        for number, content in enumerate(file, line):
            start += len(content)
            text = content.decode("utf-8", "backslashreplace").strip()
            text = text.removeprefix(_BYTE_ORDER_MARK)
            if text:
                yield _parse_row(number, start, text, valid=_is_utf8(content))


def _parse_row(line: int, end: int, text: str, *, valid: bool) -> NumberedRow:
    if not valid:
        return NumberedRow(line, end, None, text, "not UTF-8")
    try:
        values = json.loads(text, **HOOKS)
    except (ValueError, RecursionError) as error:
        return NumberedRow(line, end, None, text, f"not JSON: {error}")
    return _check_row(line, end, values, text)


def _check_row(line: int, end: int, values: Any, text: str) -> NumberedRow:
    if not isinstance(values, dict):
        return NumberedRow(line, end, None, text, "no JSON object")
    inexact = find_inexact(values)
    if inexact is not None:
        path = ".".join(map(str, inexact.path))
        return NumberedRow(line, end, None, text, str(inexact), path)
    return NumberedRow(line, end, values, text)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


MAX_CACHED_ITEMS = 100_000
UNKNOWN: Any = object()
"""The value of a field that a row does not have."""
CREATED_AT: TypeAdapter[dt.datetime] = TypeAdapter(dt.datetime)


class RejectedError(Exception):
    """A row that cannot be loaded; ``field`` names the wrong field, if one field is wrong."""

    def __init__(self, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.detail, self.field = detail, field


@dataclass
class RowPreparer:
    """Builds images of one entity's rows.

    The values of copied fields are read from other items once and cached for the whole load.
    ``any_state``: rows of new items may have states that no new item may have. ``in_paths``: the
    fields that paths take; None for those of the key. ``publishes``: their events are published.
    """

    table: Table
    ledger: Ledger
    tenant: str
    entity: type[Entity]
    progress: LoadProgress
    any_state: bool = False
    in_paths: frozenset[str] | None = None
    publishes: bool = False
    _planner: ItemPlanner = field(init=False)
    _started: dt.datetime = field(init=False)
    _key_names: tuple[str, ...] = field(init=False)
    _placing_names: frozenset[object] = field(init=False)

    def __post_init__(self) -> None:
        started = self._started = dt.datetime.fromisoformat(self.progress.started)
        self._key_names = list_key_names(self.entity)
        key = self.ledger.current_generation(self.entity.__name__).plan.key
        # A wrong number of shards would store an item where no reader looks for it.
        self._placing_names = frozenset({key.shards, key.salt})
        resolver = _CachingKeyResolver(
            self.table, self.ledger, self.tenant, lambda: started, _list_copied(self.entity)
        )
        self._planner = ItemPlanner(resolver)

    def check_open(self) -> None:
        """Refuse a tenant that was deleted: nobody could read or remove its items.

        Raises:
            TenantClosed: the tenant is closed.
        """
        if self.table.get(build_closed_mark_key(self.tenant), consistent=True) is not None:
            raise TenantClosed(f"the tenant {self.tenant} is closed for good")

    def build_image(self, row: NumberedRow) -> Image:
        """Build the image of a row's item.

        Raises:
            RejectedError: the row breaks a rule; the error names the field.
        """
        if row.values is None:
            raise RejectedError(row.problem, row.field)
        values = dict(row.values)
        created = self._parse_created_at(values.pop("created_at", None))
        expected: dict[str, Any] = {}
        given: set[str] = set()
        for name, spec in self.entity.fields_.items():
            if spec.role == "computed" or name in self._placing_names:
                expected[name] = values.pop(name, UNKNOWN)
            elif spec.role == "copied" and values.get(name) is not None:
                given.add(name)
            if name not in values and spec.role == "uid":
                values[name] = self._build_id(row.line, name)
            elif name not in values and spec.factory is now:
                values[name] = self._started
        self._check_addresses(values)
        try:
            item = self.entity(**values)
            check_written(vars(item), values)
            candidate = self._planner.plan_candidate(item, created, self._started, given=given)
            image = self._planner.plan_replacement(candidate, self._started).image
        except ValidationError as error:
            first = error.errors()[0]
            raise RejectedError(first["msg"], ".".join(map(str, first["loc"]))) from error
        except (WrittenNumberError, InexactNumberError) as error:
            raise RejectedError(str(error), ".".join(map(str, error.path))) from error
        except Refusal as error:
            raise RejectedError(error.detail, error.field) from error
        self._check_expected(expected, image)
        events = () if self.publishes else self.ledger.events.get(self.entity.__name__, ())
        return mark_quiet(image, events)

    def _check_addresses(self, values: Mapping[str, Any]) -> None:
        """Refuse a row with a value in a path that has no address."""
        for name in self._key_names if self.in_paths is None else self.in_paths:
            given = values.get(name)
            for text in given if isinstance(given, list) else (given,):
                problem = describe_unaddressable(text) if isinstance(text, str) else None
                if problem:
                    raise RejectedError(problem, name)

    def find_refusal(self, image: Image, stored: Image | None) -> RejectedError | None:
        """Why an item may not replace the stored one, by the rules over both; None if it may.

        With `any_state`, a new item may have any state.
        """
        replaced = stored or {}
        if replaced and is_expired(replaced, int(self._started.timestamp())):
            replaced = {}
        if not replaced and self.any_state:
            return None
        try:
            check_transitions(self.entity, self.ledger, image, replaced)
            check_change(ItemFields(self.entity, image), self.ledger, SYSTEM, replaced)
        except Refusal as error:
            return RejectedError(error.detail, error.field)
        return None

    def _check_expected(self, expected: Mapping[str, Any], image: Image) -> None:
        """Refuse a row whose value is not what a function computes, or what places the item."""
        given = {name: value for name, value in expected.items() if value is not UNKNOWN}
        if not given:
            return
        computed = read_values(self.entity, image)
        for name, value in given.items():
            try:
                own = validate_value(self.entity, name, value)
            except Refusal as error:
                raise RejectedError(error.detail, name) from error
            stored = validate_value(self.entity, name, computed.get(name))
            if own != stored:
                detail = f"is {own}, but the other fields give {stored}: leave it out"
                raise RejectedError(detail, name)

    def _parse_created_at(self, value: Any) -> dt.datetime:
        if value is None:
            return self._started
        try:
            created_at = CREATED_AT.validate_python(value)
        except ValidationError as error:
            raise RejectedError(error.errors()[0]["msg"], "created_at") from error
        if created_at.tzinfo is None:
            raise RejectedError("an instant needs a time zone", "created_at")
        return created_at

    def _build_id(self, line: int, name: str) -> str:
        """An id that is unique to this load and equal each time the load reads the row."""
        seed = f"{self.progress.id}:{line}:{name}".encode()
        random = hashlib.blake2b(seed, digest_size=10).digest()
        milliseconds = int(self._started.timestamp() * 1000).to_bytes(6, "big")
        return str(ULID(milliseconds + random)).lower()


def _list_copied(entity: type[Entity]) -> dict[str, set[str]]:
    """The attributes that the copied fields of an entity are made of, by their reference."""
    copied: dict[str, set[str]] = {}
    for spec in entity.fields_.values():
        if spec.role == "copied" and spec.source is not None:
            copied.setdefault(spec.target.name, {SCALES}).add(spec.source.name)
    return copied


class _CachingKeyResolver(KeyResolver):
    """Reads each referenced item once; the load uses its values of that time."""

    def __init__(
        self,
        table: Table,
        ledger: Ledger,
        tenant: str,
        clock: Callable[[], dt.datetime],
        copied: Mapping[str, Set[str]],
    ) -> None:
        super().__init__(table, ledger, tenant, clock, ItemCache(clock))
        self._copied = copied
        self._cache: dict[tuple[str, str], Image | None] = {}

    def find_referenced(self, spec: FieldSpec, value: AttributeValue) -> Image | None:
        """Find an item, reduced to the copied fields: the cache holds many items."""
        reference = spec.target.name
        key = (reference, str(value))
        if key not in self._cache:
            if len(self._cache) >= MAX_CACHED_ITEMS:
                self._cache.clear()
            image = super().find_referenced(spec, value)
            names = self._copied[reference]
            self._cache[key] = image and {name: image[name] for name in names & image.keys()}
        return self._cache[key]
