"""Signatures equal those of botocore, for any body, credentials, region, moment and address."""

from __future__ import annotations

import datetime as dt
from typing import Any
from unittest.mock import patch

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import example, given
from hypothesis import strategies as st

from daicho.storage.direct.template import RequestTemplate

TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)
CREDENTIALS = st.builds(
    ReadOnlyCredentials,
    TEXT.filter(lambda key: "/" not in key),
    TEXT,
    st.none() | st.just("") | st.lists(TEXT, min_size=1, max_size=3).map("  ".join),
    st.none(),
)
REGIONS = st.sampled_from(("us-east-1", "eu-central-2", "us-gov-west-1", "cn-north-1"))
SERVICES = st.sampled_from(("dynamodb", "other-service"))
MOMENTS = st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2099, 12, 31))  # noqa: DTZ001
HOSTS = st.sampled_from(
    ("localhost", "Dynamodb.EU-west-1.amazonaws.com", "127.0.0.1", "[::1]", "1.ddb.example")
)
PORTS = st.sampled_from(("", ":80", ":443", ":8000"))
PATHS = st.lists(
    st.sampled_from(("", ".", "..", "a", "b c", "~x", "é", "%41", "a=b&c", "$")), max_size=4
).map(lambda parts: "/" + "/".join(parts))
URLS = st.builds("{}://{}{}{}".format, st.sampled_from(("http", "https")), HOSTS, PORTS, PATHS)
OPERATIONS = st.sampled_from(("PutItem", "TransactWriteItems", "BatchExecuteStatement"))


def sign_by_botocore(
    url: str,
    operation: str,
    body: bytes,
    credentials: ReadOnlyCredentials,
    place: tuple[str, str],
    moment: dt.datetime,
) -> AWSPreparedRequest:
    """A request as the endpoint of botocore prepares it."""
    headers = {
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "User-Agent": "Botocore/1",
    }
    request = AWSRequest("POST", url, headers, body)
    with patch("botocore.auth.get_current_datetime", lambda: moment):
        SigV4Auth(credentials, *place).add_auth(request)
    request.headers["amz-sdk-invocation-id"] = "invocation"
    request.headers["amz-sdk-request"] = "attempt=1; max=3"
    prepared: AWSPreparedRequest = request.prepare()
    return prepared


@given(
    URLS,
    st.tuples(SERVICES, REGIONS),
    st.lists(st.tuples(OPERATIONS, st.binary(), CREDENTIALS, MOMENTS), min_size=2, max_size=4),
)
@example(
    "https://dynamodb.us-east-1.amazonaws.com/",
    ("dynamodb", "us-east-1"),
    [
        ("PutItem", b"{}", ReadOnlyCredentials("k", "s", None, None), dt.datetime(2026, 1, 1)),  # noqa: DTZ001
        ("PutItem", b"{}", ReadOnlyCredentials("k", "s", None, None), dt.datetime(2026, 1, 2)),  # noqa: DTZ001
        ("PutItem", b"{}", ReadOnlyCredentials("k", "t", "t", None), dt.datetime(2026, 1, 2)),  # noqa: DTZ001
    ],
)
def test_requests_after_the_first_are_signed_as_botocore_signs_them(
    url: str, place: tuple[str, str], requests: list[tuple[str, bytes, Any, dt.datetime]]
) -> None:
    first, *others = requests
    template = RequestTemplate.learn(sign_by_botocore(url, *first[:3], place, first[3]))
    assert template is not None
    for operation, body, credentials, moment in others:
        expected = sign_by_botocore(url, operation, body, credentials, place, moment)
        built = template.build_request(operation, body, credentials, moment, "invocation")
        assert dict(built.headers) == dict(expected.headers)
        assert (built.method, built.url, built.body) == ("POST", expected.url, body)
