"""`daicho user`: what it sends to the user pool, and what it refuses before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner, Result

from daicho_cli.main import app

STACK = {"table": "t", "endpoint": "http://127.0.0.1:1", "region": "us-east-1", "user_pool": "pool"}
PASSWORD = "Long-enough-1"


class RefusedCall(ClientError):
    """Cognito's error of one code."""

    def __init__(self) -> None:
        code = type(self).__name__
        super().__init__({"Error": {"Code": code, "Message": code}}, "AdminCreateUser")


class Pool:
    """A user pool that records its calls."""

    class exceptions:
        class UsernameExistsException(RefusedCall):
            """A user has the name or the address."""

        class AliasExistsException(RefusedCall):
            """A user has the address."""

        class UserNotFoundException(RefusedCall):
            """No user has the name."""

        class ResourceNotFoundException(RefusedCall):
            """No group has the name."""

        class GroupExistsException(RefusedCall):
            """A group has the name."""

    taken_address: type[RefusedCall] = exceptions.UsernameExistsException

    def __init__(self) -> None:
        self.users: dict[str, dict[str, str]] = {}
        self.passwords: dict[str, tuple[str, bool]] = {}
        self.groups: list[tuple[str, str]] = []
        self.group_names = {"admin"}

    def admin_create_user(self, **request: Any) -> None:
        assert (request["UserPoolId"], request["MessageAction"]) == ("pool", "SUPPRESS")
        attributes = {each["Name"]: each["Value"] for each in request["UserAttributes"]}
        if request["Username"] in self.users:
            raise self.exceptions.UsernameExistsException
        if attributes["email"] in [each["email"] for each in self.users.values()]:
            raise self.taken_address
        self.users[request["Username"]] = attributes

    def admin_get_user(self, **request: Any) -> dict[str, Any]:
        if request["Username"] not in self.users:
            raise self.exceptions.UserNotFoundException
        attributes = self.users[request["Username"]]
        return {"UserAttributes": [{"Name": n, "Value": v} for n, v in attributes.items()]}

    def admin_set_user_password(self, **request: Any) -> None:
        self.passwords[request["Username"]] = (request["Password"], request["Permanent"])

    def create_group(self, **request: Any) -> None:
        assert request["UserPoolId"] == "pool"
        self.group_names.add(request["GroupName"])

    def admin_add_user_to_group(self, **request: Any) -> None:
        if request["GroupName"] not in self.group_names:
            raise self.exceptions.ResourceNotFoundException
        self.groups.append((request["Username"], request["GroupName"]))


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    made = Pool()
    monkeypatch.setattr("boto3.client", lambda *_, **__: made)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "DAICHO_PASSWORD"):
        monkeypatch.setenv(name, PASSWORD)
    return made


def run(
    folder: Path, *arguments: str, name: str = "mika", tenant: str = "acme", stack: Any = STACK
) -> Result:
    file = folder / "stack.json"
    file.write_text(json.dumps(stack), "utf-8")
    options = ("--tenant", tenant, "--email", "mika@example.com", "--stack", str(file))
    return CliRunner().invoke(app, ["user", name, *options, *arguments])


def test_a_repeat_changes_the_rest_and_never_the_tenant(pool: Pool, tmp_path: Path) -> None:
    run(tmp_path)
    again = run(tmp_path, "--group", "admin")
    assert (again.exit_code, again.output) == (
        0,
        "mika of acme existed: its password was set; groups: admin\n",
    )
    assert pool.groups == [("mika", "admin")]
    other = run(tmp_path, "--group", "staff", tenant="globex")
    assert other.exit_code == 2
    assert "mika exists in acme, which cannot be changed" in other.output
    assert pool.users["mika"]["custom:tenant"] == "acme"
    assert pool.groups == [("mika", "admin")]


def test_another_address_of_an_existing_user_is_refused(pool: Pool, tmp_path: Path) -> None:
    run(tmp_path)
    pool.passwords.clear()
    other = run(tmp_path, "--email", "other@example.com")
    assert other.exit_code == 2
    assert "mika has the address mika@example.com" in other.output
    assert pool.users["mika"]["email"] == "mika@example.com"
    assert pool.passwords == {}


@pytest.mark.parametrize(
    "error", [Pool.exceptions.UsernameExistsException, Pool.exceptions.AliasExistsException]
)
def test_the_address_of_another_user_is_refused(
    pool: Pool, tmp_path: Path, error: type[RefusedCall]
) -> None:
    pool.taken_address = error
    run(tmp_path)
    second = run(tmp_path, name="noor")
    assert second.exit_code == 2
    assert "the address mika@example.com belongs to another user" in second.output
    assert list(pool.users) == list(pool.passwords) == ["mika"]


def test_without_a_terminal_the_password_comes_from_a_variable(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAICHO_PASSWORD")
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "set DAICHO_PASSWORD" in result.output
