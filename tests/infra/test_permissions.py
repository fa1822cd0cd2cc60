"""Least privilege: the policies hold what `infra.grants` lists, and nothing else."""

import json
from collections import defaultdict
from typing import Any

import pytest

from daicho.cdk.functions import grants
from daicho.storage.keys import render
from tests.infra.synthesis import Synthesis

GRANTED = {
    "api": grants.API,
    "project": grants.PROJECT,
    "rollup": grants.ROLLUP,
    "archive": grants.ARCHIVE,
    "redrive": grants.REDRIVE,
    "audit": grants.AUDIT,
    "forget": grants.FORGET,
    "sweep": grants.SWEEP,
    "jobs": grants.JOBS,
    "ops": grants.OPS,
    "release": grants.RELEASE,
}
SCHEDULED = ("rollup", "audit", "forget", "sweep")
Allowed = dict[str, set[str]]  # resource, as text, to actions


def statements(stage: Synthesis) -> list[dict[str, Any]]:
    return [
        statement
        for policy in stage.resources("IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def text(resource: Any) -> str:
    return resource if isinstance(resource, str) else json.dumps(resource, sort_keys=True)


def allowed(stage: Synthesis, role: str) -> Allowed:
    found: Allowed = defaultdict(set)
    for policy in stage.resources("IAM::Policy").values():
        if {"Ref": role} not in policy["Properties"]["Roles"]:
            continue
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            assert statement["Effect"] == "Allow"
            for resource in as_list(statement["Resource"]):
                found[text(resource)].update(as_list(statement["Action"]))
    return dict(found)


def role_of(stage: Synthesis, function: str) -> str:
    role: str = stage.function(function)["Properties"]["Role"]["Fn::GetAtt"][0]
    return role


def arn(id: str, below: str = "", attribute: str = "Arn") -> str:
    whole = {"Fn::GetAtt": [id, attribute]}
    return text({"Fn::Join": ["", [whole, below]]} if below else whole)


def list_mappings(stage: Synthesis, name: str) -> Allowed:
    """What the rollup may do with the projector's event source mapping, and with no other."""
    found = allowed(stage, role_of(stage, name))
    mappings = [each for each in found if ":event-source-mapping:" in each]
    assert len(mappings) == (name == "rollup" and not stage.name.endswith("local"))
    assert all("ProjectorMapping" in each for each in mappings)
    return {each: {f"lambda:{action}" for action in grants.MAPPING_READ} for each in mappings}


def expected(stage: Synthesis, name: str) -> Allowed:
    listed = GRANTED[name]
    (machine,) = stage.resources("StepFunctions::StateMachine")
    (table,) = stage.resources("DynamoDB::GlobalTable")
    failures = stage.bucket_id("Failures")
    log_group = stage.function(name)["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]
    found: Allowed = {
        "*": {"xray:PutTraceSegments", "xray:PutTelemetryRecords"},
        arn(log_group): {"logs:CreateLogStream", "logs:PutLogEvents"},
        arn(table): {f"dynamodb:{action}" for action in listed.table},
    }
    if name in ("release", "jobs", "redrive", "rollup"):
        found[arn(table, attribute="StreamArn")] = {
            f"dynamodb:{action}" for action in grants.STREAM_DESCRIBE
        }
    found |= list_mappings(stage, name)
    if name == "release":
        found[text({"Ref": "AWS::StackId"})] = {
            f"cloudformation:{action}" for action in grants.STACK_DESCRIBE
        }
    if name == "ops":
        auditor = text({"Fn::GetAtt": [stage.function_id("audit"), "Arn"]})
        found[auditor] = {f"lambda:{action}" for action in grants.INVOKE}
    if name in ("api", "ops", "release", "sweep"):
        found[text({"Fn::GetAtt": [machine, "Arn"]})] = {f"states:{each}" for each in grants.START}
    for index, actions in listed.indexes.items():
        found[arn(table, f"/index/{index}")] = {f"dynamodb:{action}" for action in actions}
    if listed.archive:
        objects = arn(stage.bucket_id("Archive"), "/entity=*")
        found[objects] = {f"s3:{action}" for action in listed.archive}
    for pattern, actions in listed.failures.items():
        found[arn(failures, f"/{pattern}")] = {f"s3:{action}" for action in actions}
    if listed.objects:
        objects = arn(stage.bucket_id("Objects"), "/*")
        found[objects] = {f"s3:{action}" for action in listed.objects}
    if listed.object_bucket:
        bucket = arn(stage.bucket_id("Objects"))
        found[bucket] = {f"s3:{action}" for action in listed.object_bucket}
    if listed.failure_bucket:
        found[arn(failures)] = {f"s3:{action}" for action in listed.failure_bucket}
    if listed.archive_bucket:
        bucket = arn(stage.bucket_id("Archive"))
        found[bucket] = {f"s3:{action}" for action in listed.archive_bucket}
    if listed.stream:
        found["*"].add("dynamodb:ListStreams")
        found[arn(table, attribute="StreamArn")] = {
            "dynamodb:DescribeStream",
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
        }
        found[arn(failures, "/*")] = {"s3:PutObject"}
        found[arn(failures)] = {"s3:ListBucket"}
    return found


@pytest.mark.parametrize("name", GRANTED)
def test_a_function_may_do_what_is_listed_and_nothing_else(any_stage: Synthesis, name: str) -> None:
    assert allowed(any_stage, role_of(any_stage, name)) == expected(any_stage, name)


def test_the_function_of_operators_reaches_no_item_of_a_tenant(any_stage: Synthesis) -> None:
    """The keys of the stack's own items begin with the delimiter, and those of tenants never do."""
    role = role_of(any_stage, "ops")
    conditions = [
        statement.get("Condition")
        for policy in any_stage.resources("IAM::Policy").values()
        if {"Ref": role} in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if any(action.startswith("dynamodb:") for action in as_list(statement["Action"]))
    ]
    keys_of_stack = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "#*"}}
    assert conditions == [keys_of_stack] * 2  # the table and one index
    assert render("", "operations").startswith("#")
    assert not render("acme", "Song").startswith("#")


def test_no_action_holds_a_wildcard(any_stage: Synthesis) -> None:
    actions = {action for each in statements(any_stage) for action in as_list(each["Action"])}
    assert actions
    assert not [action for action in actions if "*" in action]


def test_only_jobs_and_releases_scan(any_stage: Synthesis) -> None:
    # A condition on leading keys would hold vacuously for a Scan: it reads every tenant.
    scanning = {
        policy["Properties"]["Roles"][0]["Ref"]
        for policy in any_stage.resources("IAM::Policy").values()
        if "dynamodb:Scan" in text(policy)
    }
    assert scanning == {role_of(any_stage, name) for name in ("jobs", "release")}


def test_each_function_has_a_role_of_its_own_without_managed_policies(
    any_stage: Synthesis,
) -> None:
    assert len({role_of(any_stage, name) for name in GRANTED}) == len(GRANTED)
    roles = any_stage.resources("IAM::Role").values()
    assert not [each for each in roles if "ManagedPolicyArns" in each["Properties"]]
    assert len(roles) == len(GRANTED) + len(SCHEDULED) + 1  # the state machine's


@pytest.mark.parametrize("name", SCHEDULED)
def test_a_schedule_may_only_start_its_function(any_stage: Synthesis, name: str) -> None:
    target = any_stage.schedule(name)["Target"]
    function = {"Fn::GetAtt": [any_stage.function_id(name), "Arn"]}
    role = target["RoleArn"]["Fn::GetAtt"][0]

    assert target["Arn"] == function
    assert allowed(any_stage, role) == {text(function): {"lambda:InvokeFunction"}}
    trust = any_stage.resources("IAM::Role")[role]["Properties"]["AssumeRolePolicyDocument"]
    assert trust["Statement"][0]["Condition"] == {
        "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    }


def test_a_customer_managed_key_comes_with_just_its_use(opened: Synthesis) -> None:
    stage = opened
    (key,) = stage.resources("KMS::Key")
    whole = {"Fn::GetAtt": [key, "Arn"]}

    for name in GRANTED:
        assert allowed(stage, role_of(stage, name))[text(whole)] == {
            f"kms:{action}" for action in grants.KEY
        }
    table = stage.only("DynamoDB::GlobalTable")["Properties"]
    assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    assert table["Replicas"][0]["SSESpecification"] == {"KMSMasterKeyId": whole}
    for bucket in ("Archive", "Failures"):
        properties = stage.resources("S3::Bucket")[stage.bucket_id(bucket)]["Properties"]
        (rule,) = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        assert rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"] == whole
    assert stage.resources("KMS::Key")[key]["Properties"]["EnableKeyRotation"] is True
