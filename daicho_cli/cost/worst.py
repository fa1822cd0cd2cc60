"""The most that a request to each route may take, by the declarations and the bounds: pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Literal

from daicho.declare.entity import Entity
from daicho.declare.keys import Edge
from daicho.declare.registry import Daicho
from daicho.declare.rules.unique import Unique
from daicho.runtime.bounds import RequestBounds
from daicho.storage.capacity import READ_UNIT_BYTES, WRITE_UNIT_BYTES
from daicho.storage.requests import MAX_TRANSACTION_WRITES
from daicho.storage.table import MAX_BATCH_WRITES
from daicho.web.http.operation import Operation, QueryVariant
from daicho.web.routes.builder import build_operations

Limit = Literal["item_bytes", "read_units", "write_units"]
RECORD_BYTES = 1.5
"""The bytes of a stored answer, for each byte of the item that it shows: compressed JSON, in which
a control character takes six bytes."""
ROW_UNITS = 4
"""Write units of a derived unit that is replaced: the old row and the new one, each in an index."""
CPU_MS, CPU_MS_PER_REQUEST, CPU_MS_PER_UNIT, CPU_MS_PER_KB = 10.0, 0.5, 0.3, 0.1
"""Processor time of a request, and of each request to DynamoDB, unit and kilobyte of its body: more
than `make bench-bounds` measures on one core."""
CLOSED_MARK_UNITS = 1
"""Read units of the mark of a closed tenant, which a function instance reads every 5 seconds."""
_ONE_ITEM = frozenset(
    {"create", "replace", "change", "delete", "restore", "add_member", "remove_member"}
)
_ONE_SECTION = frozenset({"section", "replace_section", "delete_section"})


@dataclass(frozen=True)
class WorstRequest:
    """The most that a request to a route takes. ``derived``: the write units of what derives.

    ``body_bytes``: 0 without a body. ``limit``: the name of the bound from which it follows.
    """

    method: str
    path: str
    name: str
    read: int
    written: int
    requests: int
    derived: int
    body_bytes: int
    limit: Limit

    @property
    def cpu_ms(self) -> int:
        """Milliseconds of processor time of the API's function, on one core."""
        of_units = CPU_MS_PER_REQUEST * self.requests + CPU_MS_PER_UNIT * (self.read + self.written)
        return ceil(CPU_MS + of_units + CPU_MS_PER_KB * self.body_bytes / 1_000)


def list_worst_requests(daicho: Daicho, bounds: RequestBounds) -> list[WorstRequest]:
    """The worst request of each query of each route."""
    entities = {entity.__name__: entity for entity in daicho.entities}
    return [
        _Worst(operation, entities, bounds).describe(variant)
        for operation in build_operations(daicho)
        for variant in operation.variants
    ]


def list_exceeding(worst: Iterable[WorstRequest], most: RequestBounds) -> list[WorstRequest]:
    """Those that take more than ``most``."""
    return [
        each for each in worst if each.read > most.read_units or each.written > most.write_units
    ]


@dataclass(frozen=True)
class _Worst:
    operation: Operation
    entities: Mapping[str, type[Entity]]
    bounds: RequestBounds

    def describe(self, variant: QueryVariant) -> WorstRequest:
        """The worst request of a query."""
        operation, bounds = self.operation, self.bounds
        writes = operation.method != "GET"
        entity = self.entities.get(variant.entity)
        derives = entity is not None and bool(entity.declarations_.keys() - {"key"})
        has_one_item = entity is not None and not self._is_split(entity)
        shows_others = any(each.name == "include" for each in variant.optional)
        if entity is not None and has_one_item and variant.kind in _ONE_ITEM and writes:
            read, written, requests = self._change_item(
                entity, shows_item=variant.returns is not None
            )
            limit: Limit = "item_bytes"
        elif entity is not None and has_one_item and variant.kind == "get" and not shows_others:
            read, written, requests, limit = self._read_item(entity), 0, 4, "item_bytes"
        else:
            read, written = bounds.read_units, bounds.write_units if writes else 0
            limit = "write_units" if writes else "read_units"
            # A read takes half a unit or more. Pieces are written in batches, others together.
            requests = 2 * read + ceil(written / MAX_BATCH_WRITES)
        has_body = operation.body_model is not None
        return WorstRequest(
            operation.method,
            operation.path,
            str(variant) if variant.required else "",
            min(read + CLOSED_MARK_UNITS, bounds.read_units),
            min(written, bounds.write_units),
            requests,
            self._derive(derives=derives, is_one=variant.kind in _ONE_ITEM) if writes else 0,
            min(operation.max_body_bytes, bounds.body_bytes) if has_body else 0,
            limit,
        )

    @staticmethod
    def _is_split(entity: type[Entity]) -> bool:
        return entity.split_field_ is not None

    def _derive(self, *, derives: bool, is_one: bool) -> int:
        """Write units of what derives from the items that are written."""
        items = 1 if is_one else MAX_TRANSACTION_WRITES
        return ROW_UNITS * self.bounds.derived_units * items if derives or not is_one else 0

    def _read_item(self, entity: type[Entity]) -> int:
        """Read units of an item, of what its key is copied from, and of its version."""
        item = ceil(self.bounds.item_bytes / READ_UNIT_BYTES)
        copied = {spec.target for spec in entity.fields_.values() if spec.role == "copied"}
        return item * (1 + len(copied) + 2 * bool(entity.versioned_))

    def _change_item(self, entity: type[Entity], *, shows_item: bool) -> tuple[int, int, int]:
        """Units and requests of a transaction of an item and of the record of its key."""
        item = 2 * ceil(self.bounds.item_bytes / WRITE_UNIT_BYTES)
        record = WRITE_UNIT_BYTES + RECORD_BYTES * self.bounds.item_bytes * shows_item
        declared = entity.declarations_.values()
        edges = sum(isinstance(each, Edge) for each in declared)
        uniques = sum(isinstance(each, Unique) for each in declared)
        references = sum(spec.must_exist for spec in entity.fields_.values())
        copies = 2 if entity.versioned_ else 0  # the version, and one that was not kept yet
        written = item * (1 + 2 * edges + references + copies) + 4 * uniques
        read = self._read_item(entity) * (1 + references) + ceil(record / READ_UNIT_BYTES)
        return read, written + 2 * ceil(record / WRITE_UNIT_BYTES), 8 + references + 2 * uniques
