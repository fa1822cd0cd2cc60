"""Every changing route under a key, failing at each of its calls: its repeat does it, once."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from daicho.errors import UnansweredError
from daicho.handlers.wiring.dependencies import Dependencies
from daicho.storage.table import Table
from daicho.web.http.operation import Operation
from tests.support.api_client import Client
from tests.support.deployment import Served
from tests.support.described_routes import DescribedRoutes, first_word, items_of, url_of
from tests.support.sample_project import SAMPLE_ROUTES

ROUTES = SAMPLE_ROUTES

MOST_CALLS = 40
LEFT_OUT = ("PK", "ttl", "salt")
"""Of items: chance decides what shard one is of."""
CALLS = {
    *("get", "batch_get", "query", "scan"),
    *("put", "update", "delete", "transact", "batch_write"),
}
MADE = re.compile(r"[0-9a-hjkmnp-tv-z]{26}|\d{4}-\d\d-\d\dT[\d:.]+Z")


class Died(BaseException):
    """The process ends."""


FAULTS: tuple[tuple[BaseException, bool], ...] = (
    (Died(), False),
    (UnansweredError("silence"), True),
)
"""What a call raises, and whether before it was carried out."""


class Failing(Table):
    """A table of whose calls one fails, before or after it was carried out."""

    calls = 0
    fails_at = 0
    before = False
    error: BaseException | None = None

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return self._failing(found) if name in CALLS else found

    def _failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            self.calls += 1
            failing = self.error if self.calls == self.fails_at else None
            if failing is not None and self.before:
                raise failing
            answer = call(*given, **named)
            if failing is not None:
                raise failing
            return answer

        return called


def left(served: Served, tenant: str) -> Counter[str]:
    """What stands there of a tenant, whatever it is called and whenever it was made.

    What nobody sees any more, and waits to be removed, is left out.
    """
    found: Counter[str] = Counter()
    for item in items_of(served, tenant):
        shown = {name: value for name, value in item.items() if name not in LEFT_OUT}
        if "type" in item or "#@" in item["PK"]["S"]:
            text = json.dumps(shown, sort_keys=True, default=sorted)
            found[MADE.sub("…", text.replace(tenant, "tenant"))] += 1
    return found


@pytest.mark.operations("faulty")
def test_whatever_fails_a_repeat_does_it_once(
    served: Served, operation: Operation, routes: DescribedRoutes
) -> None:
    table = Failing(served.dynamodb, served.table.name)
    dependencies = Dependencies(table=lambda *_, **__: table)
    handler = served.build_api(dependencies)
    url, body = url_of(operation), routes.body_of(operation)
    # What makes there be something to change, by the first word of its path.
    own = [each for each in routes.making if first_word(each) == first_word(operation)]

    def prepared(tenant: str) -> Client:
        client = Client(handler, tenant)
        for each in own:
            client(each.method, url_of(each), routes.body_of(each))
        return client

    place = routes.faulty.index(operation)
    unharmed = prepared(f"route-{place:03}-0-00")
    expected = unharmed(operation.method, url, body, idempotency_key="k")
    stands = left(served, unharmed.tenant or "")
    for number, (error, before) in enumerate(FAULTS, start=1):
        for fails_at in range(1, MOST_CALLS):
            client = prepared(f"route-{place:03}-{number}-{fails_at:02}")
            table.calls, table.fails_at, table.before, table.error = 0, fails_at, before, error
            try:
                first = client(operation.method, url, body, idempotency_key="k")
            except Died:
                first = None
            failed, table.error = table.calls >= fails_at, None
            again = client(operation.method, url, body, idempotency_key="k")
            assert again.status == expected.status, (fails_at, error, before, again.text)
            assert left(served, client.tenant or "") == stands, (fails_at, error, before)
            if first is not None and first.status < 300:
                assert (first.status, first.text) == (again.status, again.text)
            elif first is not None:
                assert first.status in (503, expected.status), (fails_at, error, first.text)
            if not failed:
                break
        else:
            raise AssertionError("it never came to its end")
