"""Tokens that the gateway refuses, on every route: judged by the local AWS's JWT authorizer.

A function never sees these requests, so the attacks in memory cannot send them
(tests/integration/api/isolation.py).
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3
import httpx
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.users import make_token
from tests.demonstration.support.routes import DEMONSTRATION_ROUTES
from tests.e2e.api import TIMEOUT
from tests.support.described_routes import url_of

VICTIM = "acme"
Sign = Callable[[bytes], bytes]


def encode(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def write_token(header: Mapping[str, Any], claims: Mapping[str, Any], sign: Sign) -> str:
    signed = ".".join(encode(json.dumps(part).encode()) for part in (header, claims))
    return f"{signed}.{encode(sign(signed.encode()))}"


def make_signer(key: rsa.RSAPrivateKey) -> Sign:
    return lambda text: key.sign(text, padding.PKCS1v15(), hashes.SHA256())


def find_issuers_signer(place: LocalInstance, token: str) -> Sign:
    """Signs as the local issuer does: by the key that has signed this token."""
    signed, _, signature = token.rpartition(".")
    for path in (place.data / "state").rglob("*.pem"):
        key = serialization.load_pem_private_key(path.read_bytes(), None)
        assert isinstance(key, rsa.RSAPrivateKey)
        sign = make_signer(key)
        if encode(sign(signed.encode())) == signature:
            return sign
    raise AssertionError("the local issuer has no key")


def make_foreign_token(stack: Mapping[str, Any]) -> str:
    """A token of a user of the victim in another user pool of the same account."""
    session = boto3.Session("test", "test", region_name=REGION)
    cognito = session.client("cognito-idp", endpoint_url=stack["endpoint"])
    tenant: Any = {"Name": "tenant", "AttributeDataType": "String", "Mutable": True}
    pool = cognito.create_user_pool(PoolName="foreign", Schema=[tenant])["UserPool"]["Id"]
    client = cognito.create_user_pool_client(
        UserPoolId=pool, ClientName="foreign", ExplicitAuthFlows=["ALLOW_USER_PASSWORD_AUTH"]
    )
    return make_token(cognito, pool, str(client["UserPoolClient"]["ClientId"]), VICTIM)


@pytest.fixture(scope="module")
def tokens(stack: dict[str, Any], place: LocalInstance | None) -> dict[str, str | None]:
    if place is None:
        pytest.skip("the key of another stack's issuer is not known")
    good = stack["tokens"][VICTIM]
    first, second, signature = good.split(".")
    header, claims = json.loads(decode(first)), json.loads(decode(second))
    sign = find_issuers_signer(place, good)
    mine = make_signer(rsa.generate_private_key(65_537, 2_048))
    foreign = encode(json.dumps({**claims, "custom:tenant": "globex"}).encode())
    return {
        "none": None,
        "malformed": "x.y.z",
        "expired": write_token(header, {**claims, "exp": int(time.time()) - 1}, sign),
        "re-signed": write_token(header, claims, mine),
        "altered": f"{first}.{foreign}.{signature}",
        "alg none": write_token({**header, "alg": "none"}, claims, lambda _: b""),
        "alg none without a key": write_token({"alg": "none"}, claims, lambda _: b""),
        "wrong issuer": write_token(header, {**claims, "iss": f"{claims['iss']}x"}, sign),
        "wrong audience": write_token(header, {**claims, "aud": "another"}, sign),
        "foreign": make_foreign_token(stack),
        "good": write_token(header, claims, sign),
    }


def read_items(stack: Mapping[str, Any]) -> list[Any]:
    """The items of the victim."""
    session = boto3.Session("test", "test", region_name=REGION)
    dynamodb = session.client("dynamodb", endpoint_url=stack["endpoint"])
    pages = dynamodb.get_paginator("scan").paginate(TableName=stack["table"])
    items = [item for page in pages for item in page["Items"]]
    return sorted(
        (item for item in items if item["PK"]["S"].startswith(f"{VICTIM}#")), key=json.dumps
    )


def test_no_route_accepts_a_wrong_token(
    stack: dict[str, Any], tokens: dict[str, str | None]
) -> None:
    """Every route without a token and with one wrong token: all have one authorizer."""
    before = read_items(stack)
    wrong = [name for name in tokens if name not in ("good", "none")]
    assert len(wrong) < len(DEMONSTRATION_ROUTES.served)
    with httpx.Client(base_url=stack["url"], timeout=TIMEOUT) as api:
        good = {"authorization": f"Bearer {tokens.pop('good')}"}
        assert api.get("/users", params={"name": "x"}, headers=good).status_code == 200
        for place, operation in enumerate(DEMONSTRATION_ROUTES.served):
            body: Any = {} if operation.body is not None else None
            for name in ("none", wrong[place % len(wrong)]):
                token = tokens[name]
                headers = {"authorization": f"Bearer {token}"} if token else {}
                url = url_of(operation)
                answer = api.request(operation.method, url, headers=headers, json=body)
                assert answer.status_code == 401, (name, operation.id, answer.text)
                assert answer.json() == {"message": "Unauthorized"}
    assert read_items(stack) == before
