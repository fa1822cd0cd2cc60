"""The requests of Lambda's API: each is checked against botocore's model of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.stub import Stubber

from daicho.errors import ThrottledError, UnavailableError
from daicho.release import function_versions
from daicho.release.function_versions import LATEST, FunctionVersions

ARN = "arn:aws:lambda:eu-west-1:123456789012:function:api"
NAMED = {"FunctionName": ARN}
LIVE = {**NAMED, "Name": "live"}
MISSING = "ResourceNotFoundException"


@pytest.fixture
def lambda_(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """Lambda, which expects exactly the requests that a test adds."""
    client = botocore.session.get_session().create_client(
        "lambda",
        region_name="eu-west-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    monkeypatch.setattr(function_versions, "open_client", lambda service, config: client)
    with Stubber(client) as stub:
        yield stub
        stub.assert_no_pending_responses()


def test_a_version_is_described_by_its_number(lambda_: Stubber) -> None:
    expected = {**NAMED, "Qualifier": "3"}
    lambda_.add_response("get_function_configuration", {"State": "Active"}, expected)
    lambda_.add_client_error(
        "get_function_configuration", MISSING, expected_params={**NAMED, "Qualifier": LATEST}
    )
    versions = FunctionVersions(ARN)
    found = versions.describe("3")
    assert found is not None
    assert found["State"] == "Active"
    assert versions.describe(LATEST) is None


def test_a_version_is_published(lambda_: Stubber) -> None:
    lambda_.add_response("publish_version", {"Version": "4"}, NAMED)
    assert FunctionVersions(ARN).publish() == "4"


def test_published_versions_are_listed_newest_first_from_all_pages(lambda_: Stubber) -> None:
    lambda_.add_response(
        "list_versions_by_function",
        {"Versions": [{"Version": LATEST}, {"Version": "9"}], "NextMarker": "next"},
        NAMED,
    )
    lambda_.add_response(
        "list_versions_by_function",
        {"Versions": [{"Version": "10"}]},
        {**NAMED, "Marker": "next"},
    )
    assert FunctionVersions(ARN).list_published() == ("10", "9")


def test_a_version_is_removed_and_never_the_function(lambda_: Stubber) -> None:
    lambda_.add_response("delete_function", {}, {**NAMED, "Qualifier": "3"})
    lambda_.add_client_error("delete_function", MISSING)
    versions = FunctionVersions(ARN)
    versions.remove("3")
    versions.remove("3")
    for wrong in ("", LATEST, "live"):
        with pytest.raises(ValueError, match="invalid literal"):
            versions.remove(wrong)


def test_the_alias_names_a_version(lambda_: Stubber) -> None:
    lambda_.add_response("get_alias", {"FunctionVersion": "3"}, LIVE)
    lambda_.add_client_error("get_alias", MISSING)
    versions = FunctionVersions(ARN)
    assert [versions.find_live(), versions.find_live()] == ["3", None]


def test_the_alias_is_moved_or_created(lambda_: Stubber) -> None:
    change, answer = {**LIVE, "FunctionVersion": "3"}, {"AliasArn": f"{ARN}:live"}
    lambda_.add_response("update_alias", answer, change)
    lambda_.add_client_error("update_alias", MISSING)
    lambda_.add_response("create_alias", answer, change)
    versions = FunctionVersions(ARN)
    assert [versions.make_live("3"), versions.make_live("3")] == [f"{ARN}:live"] * 2


def test_an_alias_of_no_version_is_an_error(lambda_: Stubber) -> None:
    lambda_.add_client_error("update_alias", MISSING)
    lambda_.add_client_error("create_alias", MISSING)
    with pytest.raises(UnavailableError, match="has no version 3"):
        FunctionVersions(ARN).make_live("3")


def test_the_alias_is_removed_once(lambda_: Stubber) -> None:
    lambda_.add_response("delete_alias", {}, LIVE)
    lambda_.add_client_error("delete_alias", MISSING)
    versions = FunctionVersions(ARN)
    versions.remove_live()
    versions.remove_live()


def test_a_function_that_is_gone_has_no_versions(lambda_: Stubber) -> None:
    lambda_.add_client_error("list_versions_by_function", MISSING)
    lambda_.add_client_error("publish_version", MISSING)
    versions = FunctionVersions(ARN)
    assert versions.list_published() == ()
    with pytest.raises(UnavailableError, match="there is no function"):
        versions.publish()


@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("TooManyRequestsException", 429, ThrottledError),
        ("ResourceConflictException", 409, UnavailableError),
        ("AccessDeniedException", 403, UnavailableError),
        ("ServiceException", 500, UnavailableError),
    ],
)
def test_other_errors_may_pass(lambda_: Stubber, code: str, status: int, error: Any) -> None:
    lambda_.add_client_error("publish_version", code, http_status_code=status)
    with pytest.raises(error, match=f"publish a version of {ARN}"):
        FunctionVersions(ARN).publish()
