"""Machines on the local AWS: its Cognito issues their tokens, with the trigger of the stack.

The tests of the suites use events and templates. These deploy a local stack with machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from daicho_cli.local import lifecycle
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.lifecycle import deploy
from daicho_cli.local.users import PASSWORD
from tests.e2e.api import TIMEOUT
from tests.support.dynoxide import free_port
from tests.support.repository import PROJECT
from tests.support.trials import IS_TRIAL

MACHINES = "billing:acme:admin+staff,report:globex"

pytestmark = pytest.mark.skipif(not IS_TRIAL, reason="a trial: make trials")


@dataclass(frozen=True)
class Doors:
    """A local stack with machines."""

    instance: LocalInstance
    outputs: dict[str, str]

    @property
    def cognito(self) -> Any:
        """A client of its Cognito."""
        return self.instance.session().client("cognito-idp", endpoint_url=self.instance.endpoint)

    def request_token(self, machine: str, **parameters: str) -> httpx.Response:
        """Request a token with a machine's own secret."""
        id = self.outputs[f"Machine{machine}ClientId"]
        described = self.cognito.describe_user_pool_client(
            UserPoolId=self.outputs["UserPoolId"], ClientId=id
        )
        form = {"grant_type": "client_credentials", **parameters}
        secret = described["UserPoolClient"]["ClientSecret"]
        url = f"{self.instance.endpoint}/oauth2/token"
        return httpx.post(url, data=form, auth=(id, secret), timeout=TIMEOUT)

    def get(self, path: str, token: str) -> httpx.Response:
        """Send a request to the API."""
        headers = {"authorization": f"Bearer {token}"}
        return httpx.get(f"{self.instance.url}{path}", headers=headers, timeout=TIMEOUT)

    def put(self, path: str, token: str, body: dict[str, Any]) -> httpx.Response:
        """Send a change to the API."""
        headers = {"authorization": f"Bearer {token}"}
        return httpx.put(f"{self.instance.url}{path}", json=body, headers=headers, timeout=TIMEOUT)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    instance = LocalInstance(tmp_path_factory.mktemp("machines"), free_port(), PROJECT)
    try:
        lifecycle.up(instance, print, with_sample=False)
        yield Doors(instance, deploy(instance, options={"machines": MACHINES}))
    finally:
        lifecycle.down(instance, print)


def test_a_machine_reads_and_writes_its_own_tenant_alone(doors: Doors) -> None:
    billing = doors.request_token("Billing").json()["access_token"]
    report = doors.request_token("Report").json()["access_token"]
    assert doors.put("/users/sato", billing, {"name": "Sato"}).status_code == 201
    assert doors.get("/users/sato", billing).status_code == 200
    assert doors.get("/users/sato", report).status_code == 404


def test_a_machine_has_its_own_roles_alone(doors: Doors) -> None:
    billing = doors.request_token("Billing").json()["access_token"]
    report = doors.request_token("Report").json()["access_token"]
    assert doors.get("/jobs/none", billing).status_code == 404
    assert doors.get("/jobs/none", report).status_code == 403


def test_a_machine_can_request_less_and_nothing_else(doors: Doors) -> None:
    without_role = doors.request_token("Billing", scope="daicho/tenant.acme").json()
    assert doors.get("/users/sato", without_role["access_token"]).status_code in (200, 404)
    assert doors.get("/jobs/none", without_role["access_token"]).status_code == 403
    without_tenant = doors.request_token("Billing", scope="daicho/role.admin").json()
    assert doors.get("/users/sato", without_tenant["access_token"]).status_code == 403
    assert doors.request_token("Report", scope="daicho/tenant.acme").status_code == 400
    metadata = doors.request_token("Report", aws_client_metadata='{"custom:tenant": "acme"}')
    assert doors.get("/users/sato", metadata.json()["access_token"]).status_code == 404


def test_an_access_token_of_a_user_has_the_tenant_too(doors: Doors) -> None:
    signed_in = doors.cognito.initiate_auth(
        ClientId=doors.outputs["UserPoolClientId"],
        AuthFlow="USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": "demo-globex", "PASSWORD": PASSWORD},
    )["AuthenticationResult"]
    for token in (signed_in["IdToken"], signed_in["AccessToken"]):
        assert doors.get("/users/sato", token).status_code == 404
        assert doors.get("/jobs/none", token).status_code == 403
