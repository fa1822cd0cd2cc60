"""What holds data: the table, the buckets, the logs, the users."""

from pathlib import Path
from typing import Any

import pytest

from tests.infra.synthesis import Resource, Synthesis, synthesise

HOLDERS = (
    "DynamoDB::Table",
    "S3::Bucket",
    "Cognito::UserPool",
    "Logs::LogGroup",
)
LOG_DAYS = {"Daicho-local": 1, "Daicho-dev": 14, "Daicho-prod": 90}


def table(stage: Synthesis) -> dict[str, Any]:
    properties: dict[str, Any] = stage.only("DynamoDB::Table")["Properties"]
    return properties


def bucket(stage: Synthesis, name: str) -> dict[str, Any]:
    properties: dict[str, Any] = stage.resources("S3::Bucket")[stage.bucket_id(name)]["Properties"]
    return properties


def rules(stage: Synthesis, name: str) -> dict[str, dict[str, Any]]:
    return {each["Id"]: each for each in bucket(stage, name)["LifecycleConfiguration"]["Rules"]}


def holders(stage: Synthesis) -> list[Resource]:
    return [each for kind in HOLDERS for each in stage.resources(kind).values()]


def test_prod_keeps_everything_that_holds_data(prod: Synthesis) -> None:
    kept = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    found = holders(prod)
    assert len(found) == 1 + 5 + 1 + 12
    for each in found:
        assert {name: each[name] for name in kept} == kept, each["Type"]


def test_other_stages_go_with_their_stack(local: Synthesis, dev: Synthesis) -> None:
    for each in (*holders(local), *holders(dev)):
        assert each["DeletionPolicy"] == "Delete", each["Type"]


@pytest.mark.parametrize(("stage", "protected"), [("local", False), ("dev", False), ("prod", True)])
def test_deletion_is_refused_in_prod(
    stage: str, protected: bool, request: pytest.FixtureRequest
) -> None:
    found: Synthesis = request.getfixturevalue(stage)
    pool = found.only("Cognito::UserPool")["Properties"]
    assert table(found)["DeletionProtectionEnabled"] is protected
    assert pool["DeletionProtection"] == ("ACTIVE" if protected else "INACTIVE")


def test_the_table_streams_both_images_and_expires_by_ttl(any_stage: Synthesis) -> None:
    properties = table(any_stage)
    assert properties["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert properties["BillingMode"] == "PAY_PER_REQUEST"


def test_the_indexes_project_what_their_readers_need(any_stage: Synthesis) -> None:
    indexes = {each["IndexName"]: each for each in table(any_stage)["GlobalSecondaryIndexes"]}
    assert {name: each["Projection"] for name, each in indexes.items()} == {
        "GSI1": {"ProjectionType": "ALL"},
        "GSI2": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["copy"]},
        "GSI3": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
    }
    for name, each in indexes.items():
        assert [key["AttributeName"] for key in each["KeySchema"]] == [f"{name}PK", f"{name}SK"]


def test_backups_go_back_further_in_prod(dev: Synthesis, prod: Synthesis) -> None:
    assert [table(each)["PointInTimeRecoverySpecification"] for each in (dev, prod)] == [
        {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days} for days in (1, 35)
    ]


def test_prod_is_warm_and_its_postings_do_not_hold_it_back(dev: Synthesis, prod: Synthesis) -> None:
    assert "WarmThroughput" not in table(dev)
    writes = table(prod)["WarmThroughput"]["WriteUnitsPerSecond"]
    (postings,) = (
        each["WarmThroughput"]["WriteUnitsPerSecond"]
        for each in table(prod)["GlobalSecondaryIndexes"]
        if each["IndexName"] == "GSI2"
    )
    assert writes >= 20_000  # votes a second
    assert postings >= 800 * 18  # contacts a second, postings each


@pytest.mark.parametrize("name", ["Archive", "Failures", "Results"])
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


def test_the_local_buckets_can_be_reached_over_http(local: Synthesis) -> None:
    assert not local.resources("S3::BucketPolicy")


def test_an_object_that_is_deleted_is_gone(any_stage: Synthesis) -> None:
    properties = bucket(any_stage, "Objects")
    (encryption,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert "VersioningConfiguration" not in properties
    assert "CorsConfiguration" not in properties
    found = rules(any_stage, "Objects")
    assert found["leftovers"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert not [each for each in found.values() if "ExpirationInDays" in each]


def test_pages_of_named_origins_may_put_and_get_objects(tmp_path: Path) -> None:
    stage = synthesise("dev", tmp_path, cors_origins=("https://app.example.com",))
    (rule,) = bucket(stage, "Objects")["CorsConfiguration"]["CorsRules"]
    assert rule["AllowedOrigins"] == ["https://app.example.com"]
    assert rule["AllowedMethods"] == ["GET", "PUT"]


def test_the_archive_moves_to_glacier_and_is_still_read_at_once(any_stage: Synthesis) -> None:
    found = rules(any_stage, "Archive")
    assert found["glacier"]["Status"] == "Enabled"
    assert found["glacier"]["Transitions"] == [
        {"StorageClass": "GLACIER_IR", "TransitionInDays": 90}
    ]


@pytest.mark.parametrize("name", ["Archive", "Failures"])
def test_nothing_archived_or_discarded_expires(any_stage: Synthesis, name: str) -> None:
    found = rules(any_stage, name)
    done = found.pop("done", None)
    assert not [each for each in found.values() if "ExpirationInDays" in each]
    # But for what was applied again, under the name that redrive has moved it to.
    assert (done is not None) == (name == "Failures")
    if done:
        assert (done["Prefix"], done["ExpirationInDays"]) == ("done/", 90)
    leftovers = found["leftovers"]
    assert leftovers["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert leftovers["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}


def test_answers_to_queries_are_kept_for_some_days(any_stage: Synthesis) -> None:
    found = rules(any_stage, "Results")
    assert found["answers"]["ExpirationInDays"] == 7
    assert found["leftovers"]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}


def test_every_log_is_kept_for_the_time_of_its_stage(any_stage: Synthesis) -> None:
    groups = any_stage.resources("Logs::LogGroup").values()
    assert len(groups) == 12  # the functions, the API and the state machine
    assert {each["Properties"]["RetentionInDays"] for each in groups} == {LOG_DAYS[any_stage.name]}
