"""Converts a row into an image by the rules of `Book.create`; rejects rows that break a rule."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError
from ulid import ULID

from daicho.declare.entity import Entity
from daicho.declare.fields import FieldSpec, now
from daicho.errors import Refusal, TenantClosed
from daicho.layout.tenant_items import build_closed_mark_key
from daicho.plan import Ledger
from daicho.query.key_resolver import KeyResolver
from daicho.storage.attributes import AttributeValue, Image
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.write.planner import ItemPlanner
from daicho_cli.load.checkpoint import LoadProgress
from daicho_cli.load.row_reader import NumberedRow

MAX_CACHED_ITEMS = 100_000
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
    """

    table: Table
    ledger: Ledger
    tenant: str
    entity: type[Entity]
    progress: LoadProgress
    _planner: ItemPlanner = field(init=False)
    _started: dt.datetime = field(init=False)

    def __post_init__(self) -> None:
        started = self._started = dt.datetime.fromisoformat(self.progress.started)
        resolver = _CachingKeyResolver(self.table, self.ledger, self.tenant, lambda: started)
        self._planner = ItemPlanner(self.ledger, self.tenant, resolver)

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
            raise RejectedError(row.problem)
        values = dict(row.values)
        created = self._parse_created_at(values.pop("created_at", None))
        for name, spec in self.entity.fields_.items():
            if spec.role == "copied" and name in values:
                raise RejectedError(f"is copied from {spec.source}: leave it out", name)
            if name not in values and spec.role == "uid":
                values[name] = self._build_id(row.line, name)
            elif name not in values and spec.factory is now:
                values[name] = self._started
        try:
            item = self.entity(**values)
            return self._planner.plan_creation(item, created, self._started).image
        except ValidationError as error:
            first = error.errors()[0]
            raise RejectedError(first["msg"], ".".join(map(str, first["loc"]))) from error
        except Refusal as error:
            raise RejectedError(error.detail, error.field) from error

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


class _CachingKeyResolver(KeyResolver):
    """Reads each referenced item once; the load uses its values of that time."""

    def __init__(
        self, table: Table, ledger: Ledger, tenant: str, clock: Callable[[], dt.datetime]
    ) -> None:
        super().__init__(table, ledger, tenant, clock, ItemCache(clock))
        self._cache: dict[tuple[FieldSpec | None, str], Image | None] = {}

    def find_referenced(self, spec: FieldSpec, value: AttributeValue) -> Image | None:
        """Find an item, reduced to the copied field: the cache holds many items."""
        key = (spec.source, str(value))
        if key not in self._cache:
            if len(self._cache) >= MAX_CACHED_ITEMS:
                self._cache.clear()
            image = super().find_referenced(spec, value)
            name = spec.source.name if spec.source else ""
            copied = image and {name: image[name] for name in (name,) if name in image}
            self._cache[key] = copied
        return self._cache[key]
