"""Every changing route under an Idempotency-Key: its repeat changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.web.http.operation import Operation
from tests.support.api_client import Answer
from tests.support.deployment import Served
from tests.support.described_routes import DescribedRoutes, items_of, url_of
from tests.support.sample_project import SAMPLE_ROUTES

ROUTES = SAMPLE_ROUTES


def test_every_change_takes_a_key(routes: DescribedRoutes) -> None:
    without = {each.id for each in routes.changing if not each.accepts_idempotency_key}
    assert without == {"create_poll_vote"}  # its key is the voter
    for each in routes.changing:
        assert [h.name for h in each.headers].count("Idempotency-Key") == 1


@pytest.mark.operations("keyed")
def test_every_route_is_done_once(
    served: Served, operation: Operation, routes: DescribedRoutes
) -> None:
    """Whatever a route does under a key, its repeat changes nothing and is answered alike."""
    once, body = served.client(f"every-{routes.keyed.index(operation)}"), routes.body_of(operation)
    for each in routes.making:  # what there may be to change or to remove
        once(each.method, url_of(each), routes.body_of(each))

    def state() -> list[Any]:
        return sorted(items_of(served, once.tenant or ""), key=lambda item: str(item["PK"]))

    before = state()
    first = once(operation.method, url_of(operation), body, idempotency_key="k")
    after = state()
    again = once(operation.method, url_of(operation), body, idempotency_key="k")
    assert (again.status, told(again)) == (first.status, told(first)), first.text
    assert state() == after
    if first.status >= 400:
        assert after == before
        assert operation.method in ("PATCH", "DELETE") or operation.id in routes.needing
    else:
        other = once(operation.method, f"{url_of(operation, 'y')}", body, idempotency_key="k")
        same = url_of(operation) == url_of(operation, "y")
        assert other.status == (first.status if same else 422)


def told(answer: Answer) -> Any:
    """An answer's body, without the URLs that are signed anew for each: good from then on."""
    body = answer.json if answer.text else None
    if isinstance(body, dict) and "image" in body:
        return body | {"image": {name: body["image"][name] for name in ("type", "bytes")}}
    return body
