"""No tenant reaches anything of another one, and each planted leak is found in three ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from daicho.handlers.wiring import books
from daicho.layout import item_keys, tenant_items
from daicho.layout.request_records import OWNER
from daicho.query.paging import CursorBinding
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.tenants import tenant_job, tenant_jobs
from daicho.web.http.request import HttpRequest, read_token
from daicho.web.routes.tenant import session
from daicho.write.idempotency import IdempotentRequest
from tests.integration.api.isolation import Matrix, World
from tests.support.project_routes import PROJECT_ROUTES
from tests.unit.layout import test_item_keys
from tests.unit.query import test_paging
from tests.unit.storage import test_tenant_guard
from tests.unit.web.http import test_request_claims
from tests.unit.write import test_idempotency

pytestmark = pytest.mark.skipif(not PROJECT_ROUTES.all, reason="the project has no domains")
WORDS = ("contacts", "users", "jobs", "archive", "messages")
"""The operations that planted leaks are looked for in, by the beginning of their paths."""


def test_no_tenant_reaches_anything_of_another() -> None:
    matrix = Matrix(World())
    matrix.run()
    assert not matrix.leaks
    assert not matrix.world.requests.list_refused()
    assert matrix.counts.total() > 20 * len(PROJECT_ROUTES.served)


def take_tenant_from_header(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        HttpRequest,
        "tenant",
        property(lambda self: self.headers.get("x-tenant") or self.claims["custom:tenant"]),
    )


def take_tenant_from_unchecked_token(patch: pytest.MonkeyPatch) -> None:
    def read(request: HttpRequest) -> Any:
        claims = read_token(request.headers.get("authorization", ""))
        return claims.get("custom:tenant") or request.headers["custom:tenant"]

    patch.setattr(HttpRequest, "tenant", property(read))


def share_base_keys(patch: pytest.MonkeyPatch) -> None:
    build = item_keys.build_base_key
    patch.setattr(item_keys, "build_base_key", lambda _tenant, *rest: build("all", *rest))


def share_idempotency_keys(patch: pytest.MonkeyPatch) -> None:
    def build(request: IdempotentRequest, _tenant: str) -> ItemKey:
        return ItemKey(keys.render("", OWNER, request.key), "-")

    patch.setattr(IdempotentRequest, "build_key", build)


def find_jobs_by_id(patch: pytest.MonkeyPatch) -> None:
    def build(_tenant: str, id: str) -> ItemKey:
        return ItemKey("#tenant", keys.render("job", id))

    for module in (tenant_items, tenant_jobs, tenant_job, test_tenant_guard):
        patch.setattr(module, "build_job_key", build)


def accept_cursors_of_all(patch: pytest.MonkeyPatch) -> None:
    digest = CursorBinding._digest
    patch.setattr(
        CursorBinding,
        "_digest",
        lambda self, place: digest(CursorBinding("all", self.query_identity), place),
    )


check_jobs = test_tenant_guard.test_the_jobs_of_a_tenant_are_in_its_own_partition
check_base_keys = test_item_keys.test_keys_of_base_items
check_claims = test_request_claims.test_nothing_of_the_request_but_its_token_names_a_tenant


def check_cursors() -> None:
    other = CursorBinding("globex", test_paging.ONE.query_identity)
    test_paging.test_another_question_or_tenant_refuses_it(other)


def check_idempotency_keys() -> None:
    test_idempotency.test_every_key_has_a_place_of_its_own("a#b")


@pytest.mark.parametrize(
    ("plant", "check", "crosses"),
    [
        (take_tenant_from_header, check_claims, True),
        (take_tenant_from_unchecked_token, check_claims, True),
        (share_base_keys, check_base_keys, True),
        (share_idempotency_keys, check_idempotency_keys, True),
        (find_jobs_by_id, check_jobs, True),
        (accept_cursors_of_all, check_cursors, False),  # the position is in the tenant's own list
    ],
)
def test_a_planted_leak_is_found(
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[pytest.MonkeyPatch], None],
    check: Callable[[], None],
    crosses: bool,
) -> None:
    """By the matrix, by a unit test, and by the session policy if a key crosses the tenants."""
    operations = [each for each in PROJECT_ROUTES.served if each.path.split("/")[1] in WORDS]
    for module in (books, session):
        monkeypatch.setattr(module, "guard_table", lambda table, _tenant: table)
    check()
    plant(monkeypatch)
    matrix = Matrix(World(operations))
    matrix.run()
    assert matrix.leaks
    assert bool(matrix.world.requests.list_refused()) == crosses
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check()
