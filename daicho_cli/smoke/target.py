"""The stack that is tested: its API and resources, the user of a run, and its archive.

DynamoDB deletes an expired item within days, so a run at a deployed stage only begins the check of
the archive: it leaves one expired item in a tenant of its own, and a later run looks for its row.
The local stack simulates the TTL process, so the same check takes seconds there.

The archiver is not invoked with an event of our own: the row would have a number that the stream
does not have, and the audit of the archive would report it.
"""

from __future__ import annotations

import json
import secrets
import string
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from daicho.archive.reader import ArchiveReader, Selection
from daicho.archive.row_format import ArchivedRow
from daicho.declare.entity import Entity
from daicho.declare.queries import ItemRef
from daicho.plan import Ledger
from daicho.query.key_resolver import KeyResolver
from daicho.runtime.clock import utc_now
from daicho.runtime.token_claims import TENANT_CLAIM
from daicho.storage.attributes import ItemKey
from daicho.storage.bucket import Bucket
from daicho.storage.item_cache import ItemCache
from daicho.storage.table import Table
from daicho.web.schema import models
from daicho_cli.aws import Stack, StackError, name_stack
from daicho_cli.local.users import ADMIN
from daicho_cli.smoke.calls import Api, SmokeFailure, open_api
from daicho_cli.smoke.routes import Item, ItemMaker, Routes
from daicho_cli.terminal import OptionError
from daicho_cli.user import PoolUser, UserExistsError, create_user


def find_target(
    stage: str | None,
    file: Path,
    *,
    region: str | None = None,
    outputs: Path | None = None,
    url: str | None = None,
    token: str | None = None,
) -> Stack:
    """Find the stack to test: by its stage, a file of outputs or the URL of its API, or locally.

    ``file``: describes the local stack. ``outputs``: what ``cdk deploy --outputs-file`` wrote.

    Raises:
        OptionError: the options contradict each other.
        StackError: the stack does not exist, or does not name its API.
        ClientError, BotoCoreError: AWS does not answer the request for the stage's stack.
    """
    if sum(each is not None for each in (stage, outputs, url)) > 1:
        raise OptionError("--stage, --outputs and --url each name a stack: use one of them")
    if url is not None:
        if token is None:
            raise OptionError("--url needs --token: without a stack no user can be created")
        return Stack(url.rstrip("/"), {"ApiUrl": url}, region=region)
    if outputs is not None:
        name, resources = _read_outputs_file(outputs)
        return Stack(name, resources, region=region)
    stack = Stack.find(stage, file, region=region)
    return replace(stack, name=name_stack(stage or "local"))


def _read_outputs_file(file: Path) -> tuple[str, Mapping[str, str]]:
    """The stack with an API in the file of a deployment's outputs, and its outputs."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        stacks = [(name, each) for name, each in content.items() if "ApiUrl" in each]
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise StackError(f"{file} cannot be read as a file of outputs: {error}") from error
    if len(stacks) != 1:
        names = ", ".join(name for name, _ in stacks) or "none"
        raise StackError(f"{file} must have one stack with the output ApiUrl; it has {names}")
    return stacks[0]


_KINDS = (string.ascii_uppercase, string.ascii_lowercase, string.digits, "!#%+-_")


@contextmanager
def create_run_user(target: Stack, tenant: str, roles: Sequence[str] = ()) -> Iterator[str]:
    """Create an administrator of a tenant with these roles too, and sign in; the ID token.

    The user is removed when the context closes, also after an error or an interruption.

    Raises:
        StackError: the stack has no user pool.
        UserExistsError: the pool has a user of this name. It is not this run's, and is not changed.
        ClientError, BotoCoreError: Cognito refuses.
    """
    pool, client_id = target.resources.get("UserPoolId"), target.resources.get("UserPoolClientId")
    if not pool or not client_id:
        raise StackError(f"{target.name} has no user pool: give a token with --token")
    cognito, password = target.open_client("cognito-idp"), _make_password()
    user = PoolUser(
        name=tenant,
        tenant=tenant,
        email=f"{tenant}@example.com",
        groups=list(dict.fromkeys([ADMIN, *roles])),
        tenant_claim=target.resources.get("TenantClaim", TENANT_CLAIM),
    )
    with ExitStack() as removal:
        # Before the request: an interrupted one may have created the user.
        removal.callback(_remove, cognito, pool, tenant)
        try:
            create_user(cognito, pool, user, password)
        except UserExistsError:
            removal.pop_all()
            raise
        yield _sign_in(cognito, pool, client_id, tenant, password)


@contextmanager
def open_tenant_api(
    target: Stack, tenant: str, roles: Sequence[str], patience: float
) -> Iterator[Api]:
    """Open the API as an administrator of a tenant with these roles; see `create_run_user`."""
    with (
        create_run_user(target, tenant, roles) as token,
        open_api(target.url, token, patience) as api,
    ):
        yield api


def _remove(cognito: Any, pool: str, user: str) -> None:
    with suppress(cognito.exceptions.UserNotFoundException):  # it could not be created
        cognito.admin_delete_user(UserPoolId=pool, Username=user)


def _sign_in(cognito: Any, pool: str, client_id: str, user: str, password: str) -> str:
    answer = cognito.admin_initiate_auth(
        UserPoolId=pool,
        ClientId=client_id,
        AuthFlow="ADMIN_USER_PASSWORD_AUTH",
        AuthParameters={"USERNAME": user, "PASSWORD": password},
    )
    return str(answer["AuthenticationResult"]["IdToken"])


def _make_password() -> str:
    """A random password with characters of every kind that a pool may require."""
    return "".join(secrets.choice(kind) for kind in _KINDS for _ in range(8))


EXPIRED_SECONDS = 60
"""How long ago the item expires: DynamoDB ignores what expired more than five years ago."""
ARCHIVE_TENANT_SUFFIX = "-archive"
"""Appended to the name of a run: the tenant whose expired item is left for DynamoDB."""


def leave_expired_item(
    target: Stack,
    routes: Routes,
    ledger: Ledger,
    tenant: str,
    entity: type[Entity],
    patience: float,
) -> None:
    """Create an item of a tenant of its own, and set the end of its life to the past.

    Raises:
        SmokeFailure: the API refuses it.
        StackError, ClientError, BotoCoreError: see `create_run_user` and `expire_item`.
    """
    with open_tenant_api(target, tenant, routes.daicho.roles, patience) as api:
        item = ItemMaker(api, routes, api.read("/openapi.json")).create(entity)
    expire_item(target, ledger, tenant, item)


def expire_item(target: Stack, ledger: Ledger, tenant: str, item: Item) -> None:
    """Set the end of an item's life to a moment that has passed.

    Raises:
        SmokeFailure: the item is not in the table.
        ClientError, BotoCoreError: DynamoDB refuses.
    """
    table = target["TableName"]
    client = target.open_client("dynamodb")
    key = _find_key(Table(client, table), ledger, tenant, item)
    try:
        client.update_item(
            TableName=table,
            Key={"PK": {"S": key.pk}, "SK": {"S": key.sk}},
            UpdateExpression="SET #ttl = :past",
            ConditionExpression="attribute_exists(PK)",
            ExpressionAttributeNames={"#ttl": "ttl"},
            ExpressionAttributeValues={":past": {"N": str(int(time.time()) - EXPIRED_SECONDS)}},
        )
    except client.exceptions.ConditionalCheckFailedException:
        raise SmokeFailure(f"{item.path} is not in the table as {key.pk} {key.sk}") from None


def read_rows(target: Stack, tenant: str, entities: Sequence[str]) -> list[ArchivedRow]:
    """The rows of a tenant in the archive.

    Raises:
        SmokeFailure: an object of the archive cannot be read.
        UnavailableError: S3 does not answer.
    """
    bucket = Bucket(target.open_client("s3"), target["ArchiveBucketName"])
    broken: list[str] = []
    selection = Selection(tuple(entities), tenant)
    rows = list(ArchiveReader(bucket).read_rows(selection, lambda name, _: broken.append(name)))
    if broken:
        raise SmokeFailure(f"objects of the archive cannot be read: {', '.join(broken)}")
    return rows


def _find_key(table: Table, ledger: Ledger, tenant: str, item: Item) -> ItemKey:
    entity = item.entity
    parts = tuple(
        _read_field(entity.fields_[name].annotation, item.values[name])
        for name in models.list_key_names(entity)
    )
    resolver = KeyResolver(table, ledger, tenant, utc_now, ItemCache(utc_now))
    key = resolver.resolve_key(ItemRef(entity, parts))
    if key is None:
        raise SmokeFailure(f"the key of {item.path} depends on an item that does not exist")
    return key


def _read_field(annotation: Any, value: Any) -> Any:
    """A value of the API as the field has it: a date is text there."""
    return TypeAdapter(annotation).validate_python(value)
