"""A tenant at its quota, over HTTP: it is answered 429, and another tenant never is."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import boto3
import httpx
import pytest

from daicho.runtime.tenant_limits import EVERYBODY, Limits, TenantLimits
from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.users import make_token
from domains.users import STAFF
from tests.demonstration.e2e.test_faults import aws
from tests.e2e.api import TIMEOUT
from tests.support.trials import IS_TRIAL

ATTACKER, VICTIM = "umbrella", "wayne"
ATTACKERS = 4
ROUNDS = 20 if IS_TRIAL else 2
"""So often each attacker sends each attack."""
LIMITS = TenantLimits.collect({EVERYBODY: Limits(requests=500), ATTACKER: Limits(requests=1)})
SECTIONS = {f"s{number}": number for number in range(5_000)}
CONTACT = {"name": "a", "email": "x" * 15_000, "categories": [f"c{n}" for n in range(50)]}
ATTACKS: tuple[tuple[str, str, Any], ...] = (
    ("PUT", "/documents/many", {"title": "a", "sections": SECTIONS}),
    ("PUT", "/documents/unknown", {f"s{number}": 1 for number in range(70_000)}),
    ("POST", "/contacts", CONTACT),
    ("GET", "/contacts?limit=100", None),
    ("GET", "/documents/many", None),
)
REFUSED = {400, 404, 413, 422}
"""By the bounds of a request, which come after the quota."""


@contextmanager
def calling(stack: dict[str, Any], tenant: str) -> Iterator[httpx.Client]:
    """A client with the token of a user of a tenant."""
    session = boto3.Session("test", "test", region_name=REGION)
    cognito = session.client("cognito-idp", endpoint_url=stack["endpoint"])
    token = make_token(cognito, stack["user_pool"], stack["client_id"], tenant, STAFF)
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=stack["url"], headers=headers, timeout=TIMEOUT) as api:
        yield api


def set_limits(stack: dict[str, Any], limits: str) -> str:
    """Set what tenants may consume, as a deployment would; returns what was set before."""
    functions, name = aws(stack, "lambda"), stack["functions"]["api"]
    settings = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    before: str = settings["TENANT_LIMITS"]
    variables = {**settings, "TENANT_LIMITS": limits}
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
    return before


def attack(stack: dict[str, Any]) -> Counter[int]:
    """Send the attacks, while the other tenant writes and reads; the attacker's answers."""

    def send_all(api: httpx.Client) -> Counter[int]:
        answers = Counter[int]()
        for method, path, body in ATTACKS * ROUNDS:
            answer = api.request(method, path, json=body)
            answers[answer.status_code] += 1
            if answer.status_code == 429:
                assert int(answer.headers["retry-after"]) >= 1
                assert "requests" in answer.json()["detail"]
        return answers

    with (
        calling(stack, ATTACKER) as api,
        calling(stack, VICTIM) as victim,
        ThreadPoolExecutor(ATTACKERS) as pool,
    ):
        attackers = [pool.submit(send_all, api) for _ in range(ATTACKERS)]
        while not all(each.done() for each in attackers):
            written = victim.post("/contacts", json={"name": "b"})
            assert written.status_code == 201, written.text
            assert victim.get(f"/contacts/{written.json()['id']}").status_code == 200
        return sum((each.result() for each in attackers), Counter[int]())


def test_only_the_tenant_at_its_quota_is_refused(
    place: LocalInstance | None, stack: dict[str, Any]
) -> None:
    if place is None:
        pytest.skip("it sets limits, and this local AWS is somebody's own")
    free = attack(stack)
    before = set_limits(stack, LIMITS.render())
    try:
        limited = attack(stack)
    finally:
        set_limits(stack, before)
    sys.stdout.write(f"without limits {dict(free)}, with them {dict(limited)}")
    assert not free[429], free
    assert limited.keys() <= {200, 201, 429, *REFUSED}, limited
    # The shorter form may take as long as its requests are allowed to, on a busy machine.
    assert limited[429] > (limited.total() / 2 if IS_TRIAL else 0), limited
