"""What holds data: the table, the buckets, the logs, the users."""

from typing import Any

import pytest

from daicho.cdk.stores import WARM_INDEX, WARM_TABLE
from daicho.stream.journal import JOURNAL_PREFIX, MAX_RUN
from daicho.verify.findings import PREFIX
from tests.infra.synthesis import Resource, Synthesis
from tests.support.repository import ROOT

DATA_RESOURCE_TYPES = (
    "DynamoDB::GlobalTable",
    "S3::Bucket",
    "Cognito::UserPool",
    "Logs::LogGroup",
)
RETAINED = {
    "DynamoDB::GlobalTable": "Retain",
    "Cognito::UserPool": "Retain",
    "S3::Bucket": "RetainExceptOnCreate",
    "Logs::LogGroup": "RetainExceptOnCreate",
}
LOG_DAYS = {"Daicho-local": 1, "Daicho-dev": 14, "Daicho-prod": 90}
NAMED_BY = {
    "AWS::DynamoDB::GlobalTable": "TableName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::Logs::LogGroup": "LogGroupName",
    # Names of these two need not be unique.
    "AWS::Cognito::UserPool": "",
    "AWS::Lambda::LayerVersion": "",
}
"""Of each type that is retained: the property that may give it a fixed name."""


def table(stage: Synthesis) -> dict[str, Any]:
    properties: dict[str, Any] = stage.only("DynamoDB::GlobalTable")["Properties"]
    return properties


def replica(stage: Synthesis) -> dict[str, Any]:
    """What the table has in its only Region, that of the stack."""
    found: dict[str, Any]
    (found,) = table(stage)["Replicas"]
    assert found["Region"] == {"Ref": "AWS::Region"}
    return found


def bucket(stage: Synthesis, name: str) -> dict[str, Any]:
    properties: dict[str, Any] = stage.resources("S3::Bucket")[stage.bucket_id(name)]["Properties"]
    return properties


def rules(stage: Synthesis, name: str) -> dict[str, dict[str, Any]]:
    return {each["Id"]: each for each in bucket(stage, name)["LifecycleConfiguration"]["Rules"]}


def list_parts(value: Any) -> list[Any]:
    """A value of a template, and all values within it."""
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for each in within for part in list_parts(each))]


def holders(stage: Synthesis) -> list[Resource]:
    return [each for kind in DATA_RESOURCE_TYPES for each in stage.resources(kind).values()]


def test_prod_keeps_everything_that_holds_data(prod: Synthesis) -> None:
    found = holders(prod)
    assert len(found) == 1 + 5 + 1 + 13
    for each in found:
        assert each["UpdateReplacePolicy"] == "Retain", each["Type"]
        assert each["DeletionPolicy"] == RETAINED[each["Type"].removeprefix("AWS::")]


def test_no_retained_resource_has_a_name_that_a_second_creation_would_take_again(
    prod: Synthesis,
) -> None:
    """A stack whose creation failed leaves what it retains, and is created again under its name."""
    retained = {
        id: each
        for id, each in prod.template["Resources"].items()
        if each.get("DeletionPolicy", "Delete") != "Delete"
    }
    assert len(retained) > 19
    for id, each in retained.items():
        name = each["Properties"].get(NAMED_BY[each["Type"]])
        assert name is None or {"Ref": "AWS::StackId"} in list_parts(name), f"{id}: {name}"


@pytest.mark.parametrize(("stage", "protected"), [("local", False), ("dev", False), ("prod", True)])
def test_deletion_is_refused_in_prod(
    stage: str, protected: bool, request: pytest.FixtureRequest
) -> None:
    found: Synthesis = request.getfixturevalue(stage)
    pool = found.only("Cognito::UserPool")["Properties"]
    assert replica(found)["DeletionProtectionEnabled"] is protected
    assert pool["DeletionProtection"] == ("ACTIVE" if protected else "INACTIVE")


def test_no_index_holds_a_warm_table_back(own: Synthesis) -> None:
    properties = table(own)
    writes = properties["WarmThroughput"]["WriteUnitsPerSecond"]
    assert writes >= 20_000  # votes a second
    indexes = {each["IndexName"]: each for each in properties["GlobalSecondaryIndexes"]}
    assert set(indexes) == {"GSI1", "GSI2", "GSI3"}
    for each in indexes.values():
        assert each["WarmThroughput"]["WriteUnitsPerSecond"] >= 800 * 18  # contacts, postings each


def test_the_documentation_has_the_units_that_are_bought() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text("utf-8")
    default_reads, default_writes = 12_000, 4_000
    reads = WARM_TABLE[0] - default_reads + 3 * (WARM_INDEX[0] - default_reads)
    writes = WARM_TABLE[1] - default_writes + 3 * (WARM_INDEX[1] - default_writes)
    assert f"{reads:,} read units and {writes:,} write units" in page


@pytest.mark.parametrize("name", ["Archive", "Failures", "Results", "Objects"])
def test_buckets_are_encrypted_versioned_and_closed(any_stage: Synthesis, name: str) -> None:
    properties = bucket(any_stage, name)
    (encryption,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(properties["PublicAccessBlockConfiguration"]) == 4


def test_buckets_are_reached_over_tls_only(on_aws: Synthesis) -> None:
    policies = {
        each["Properties"]["Bucket"]["Ref"]: each["Properties"]["PolicyDocument"]["Statement"]
        for each in on_aws.resources("S3::BucketPolicy").values()
    }
    assert set(policies) == set(on_aws.resources("S3::Bucket"))
    for statements in policies.values():
        plain = {"Bool": {"aws:SecureTransport": "false"}}
        (denied,) = (each for each in statements if each.get("Condition") == plain)
        assert (denied["Effect"], denied["Action"]) == ("Deny", "s3:*")


@pytest.mark.parametrize("name", ["Archive", "Failures"])
def test_nothing_archived_or_discarded_expires(any_stage: Synthesis, name: str) -> None:
    found = rules(any_stage, name)
    expiring = {each: found.pop(each) for each in ("done", "verify", "journal") if each in found}
    assert not [each for each in found.values() if "ExpirationInDays" in each]
    # But for findings, journals, and what was applied again, under the name that redrive gives it.
    days = {each["Prefix"]: each["ExpirationInDays"] for each in expiring.values()}
    journal_days = MAX_RUN.days + 2
    kept = {"done/": 90, PREFIX: 30, JOURNAL_PREFIX: journal_days}
    assert days == (kept if name == "Failures" else {})
    leftovers = found["leftovers"]
    assert leftovers["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert leftovers["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}


def test_backups_go_back_further_in_prod(dev: Synthesis, prod: Synthesis) -> None:
    assert [replica(each)["PointInTimeRecoverySpecification"] for each in (dev, prod)] == [
        {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days} for days in (1, 35)
    ]


def test_every_log_is_kept_for_the_time_of_its_stage(any_stage: Synthesis) -> None:
    groups = dict(any_stage.resources("Logs::LogGroup"))
    days = {id: each["Properties"]["RetentionInDays"] for id, each in groups.items()}
    assert len(days) == 13  # the functions, the state machine and the API's access log
    assert set(days.values()) == {LOG_DAYS[any_stage.name]}
