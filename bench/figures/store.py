"""The table with the sales: base items, stream records, projector and rollup."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from daicho import Book
from daicho.declare.entity import Entity
from daicho.handlers import project, rollup
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.items.mapper import to_field_image
from daicho.layout.base_item import build_base_item
from daicho.plan import Ledger
from daicho.runtime.clock import utc_now
from daicho.storage.table import Table
from tests.support.dynoxide import client, create_table
from tests.support.judged_sales.sales import SaleRow
from tests.support.stream_pump import Consumer, Context, Pump, environment

TENANT = "acme"
BLOCK = 2_000


class SalesStore:
    """A table of Dynoxide with the deployed stream functions, which move when they are told to.

    ``units`` of the table count what was consumed, by the stream functions too. The endpoint is
    that of ``AWS_ENDPOINT_URL``.
    """

    def __init__(self, endpoint: str, ledger: Ledger) -> None:
        self._ledger, dynamodb = ledger, client(endpoint)
        name = create_table(dynamodb)
        self.table = Table(dynamodb, name).with_metering()
        self.book = Book(self.table, ledger, TENANT)
        dependencies = Dependencies(table=lambda *_, **__: self.table)
        projector = project.build(environment(name), ledger, dependencies)
        self._roll_up = rollup.build(environment(name), ledger, dependencies)
        consumers = [Consumer(projector, ledger.derived_types)]
        self._pump = Pump(dynamodb, endpoint, name, consumers)

    def load(self, entity: type[Entity], rows: Iterable[SaleRow]) -> Iterator[int]:
        """Store sales block by block, with all that follows from them; how many are stored."""
        generation, rest, stored = self._ledger.current_generation(entity.__name__), iter(rows), 0
        while block := list(islice(rest, BLOCK)):
            images = (to_field_image(entity, vars(row)) for row in block)
            self.table.batch_write(
                build_base_item(TENANT, generation, image, utc_now()) for image in images
            )
            stored += len(block)
            self._pump.run()
            yield stored
        self.settle()

    def change(self, entity: Any, deleted: Sequence[SaleRow], edited: Sequence[SaleRow]) -> None:
        """Delete some sales and edit others, with all that follows."""
        for sale in deleted:
            self.book.delete(entity.key(sale.id))
        for sale in edited:
            values = {name: value for name, value in vars(sale).items() if name != "id"}
            self.book.change(entity.key(sale.id), values)
        self.settle()

    def settle(self) -> None:
        """Let the projector handle all records, and the rollup all totals."""
        self._pump.run()
        while self._run_rollup()["rolled"]:
            pass

    def measure(self, work: Callable[[], object]) -> tuple[float, float]:
        """The read and write units of some work."""
        self.table.budget.take_total()
        work()
        return self.table.budget.take_total()

    def _run_rollup(self) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):  # its metrics
            report = self._roll_up({}, Context())
        if report["failed"]:
            raise RuntimeError(f"not rolled up: {report}")
        return report
