"""The two consumers: their mappings, and the filters that follow from the plan."""

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daicho.plan import Ledger
from daicho.project import FUNCTIONS
from tests.infra.synthesis import (
    COUNT,
    LEDGER,
    SEARCH,
    Synthesis,
    entity,
    list_steps,
    synthesise,
)

CONSUMERS = ("project", "archive")
BY_TTL = {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}


def build_stream_image(which: str, types: list[str], **more: Any) -> dict[str, Any]:
    return {"dynamodb": {which: {"type": {"S": types}, **more}}}


def build_heartbeat_image(types: list[str]) -> dict[str, Any]:
    return build_stream_image("NewImage", ["~heartbeat"], heartbeat={"S": types})


def test_the_stream_has_two_consumers_and_room_for_no_third(any_stage: Synthesis) -> None:
    mappings = any_stage.resources("Lambda::EventSourceMapping").values()
    assert {each["Properties"]["FunctionName"]["Ref"] for each in mappings} == {
        any_stage.function_id(name) for name in CONSUMERS
    }
    assert len(mappings) == len(CONSUMERS)


@pytest.mark.parametrize("name", CONSUMERS)
def test_a_consumer_reads_from_the_oldest_record_on(any_stage: Synthesis, name: str) -> None:
    (table,) = any_stage.resources("DynamoDB::Table")
    mapping = any_stage.mapping(name)
    assert mapping["EventSourceArn"] == {"Fn::GetAtt": [table, "StreamArn"]}
    assert mapping["StartingPosition"] == "TRIM_HORIZON"
    assert mapping.get("Enabled", True)


@pytest.mark.parametrize("name", CONSUMERS)
def test_retries_are_bounded_and_what_is_discarded_is_kept(any_stage: Synthesis, name: str) -> None:
    mapping = any_stage.mapping(name)
    failures = any_stage.bucket_id("Failures")
    assert mapping["MaximumRetryAttempts"] == 300
    assert mapping["MaximumRecordAgeInSeconds"] == 22 * 3600  # within the stream's 24 hours
    assert mapping["BisectBatchOnFunctionError"] is True
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["DestinationConfig"] == {
        "OnFailure": {"Destination": {"Fn::GetAtt": [failures, "Arn"]}}
    }
    assert any_stage.function(name)["Properties"]["Timeout"] == 300


@pytest.mark.parametrize("name", CONSUMERS)
def test_events_carry_their_shard_and_come_one_batch_at_a_time(
    any_stage: Synthesis, name: str
) -> None:
    mapping = any_stage.mapping(name)
    assert 0 < mapping["TumblingWindowInSeconds"] <= 900  # without a window no shardId
    assert mapping["ParallelizationFactor"] == 1


def test_the_projector_waits_briefly_and_the_archive_gathers(
    prod: Synthesis, local: Synthesis
) -> None:
    project, archive = (prod.mapping(name) for name in CONSUMERS)
    assert (project["BatchSize"], project["MaximumBatchingWindowInSeconds"]) == (1000, 1)
    assert local.mapping("project")["MaximumBatchingWindowInSeconds"] == 0
    assert (archive["BatchSize"], archive["MaximumBatchingWindowInSeconds"]) == (10_000, 300)


def test_the_api_is_deployed_after_the_consumers_and_their_filters(any_stage: Synthesis) -> None:
    release = list_steps(any_stage)
    assert release["open"] in any_stage.function("api")["DependsOn"]
    before = set(any_stage.template["Resources"][release["open"]]["DependsOn"])
    assert set(any_stage.resources("Lambda::EventSourceMapping")) <= before
    assert {any_stage.function_id(name) for name in CONSUMERS} <= before
    assert release["check"] in before


def test_no_function_is_updated_before_the_ledger_is_checked(any_stage: Synthesis) -> None:
    check = list_steps(any_stage)["check"]
    names = [name for name in FUNCTIONS if name not in ("release", "tokens")]
    assert len(names) == 10
    for name in names:
        assert check in any_stage.function(name)["DependsOn"]


def test_a_step_of_a_release_comes_after_its_permissions(any_stage: Synthesis) -> None:
    policies = any_stage.resources("IAM::Policy")
    (policy,) = (id for id in policies if id.startswith("ReleaseRole"))
    for step in list_steps(any_stage).values():
        assert policy in any_stage.template["Resources"][step]["DependsOn"]


def test_a_release_is_repeated_for_another_ledger_or_older_code(
    dev: Synthesis, tmp_path: Path
) -> None:
    added = Ledger({**LEDGER.entities, "Vote": (entity("Vote", aggregates=(COUNT,)),)})
    older = replace(LEDGER, written={"Song": 1})
    stages = [
        dev,
        synthesise("dev", tmp_path / "added", ledger=added),
        synthesise("dev", tmp_path / "older", ledger=older),
    ]
    for step in ("check", "open"):
        properties = {
            json.dumps(stage.template["Resources"][list_steps(stage)[step]]["Properties"])
            for stage in stages
        }
        assert len(properties) == 3


def test_only_the_emulated_stream_is_told_so(any_stage: Synthesis) -> None:
    emulated = "true" if any_stage.name == "Daicho-local" else "false"
    for name in CONSUMERS:
        assert any_stage.environment(name)["EMULATED_STREAM"] == emulated


def test_the_projector_wakes_for_what_derives_in_any_generation(any_stage: Synthesis) -> None:
    types = ["Download", "Reading", "Song"]
    assert any_stage.filters("project") == [
        build_stream_image("NewImage", types),
        build_stream_image("OldImage", types),
        build_heartbeat_image(types),
    ]


def test_the_archive_wakes_for_the_ttl_deletions_of_what_it_keeps(on_aws: Synthesis) -> None:
    assert on_aws.filters("archive") == [
        {
            "eventName": ["REMOVE"],
            "userIdentity": BY_TTL,
            **build_stream_image("OldImage", ["Message", "Reading"]),
        },
        build_heartbeat_image(["Message", "Reading"]),
    ]


def test_the_local_archive_wakes_for_marked_deletions(local: Synthesis) -> None:
    mark = {"N": [{"exists": True}]}
    assert local.filters("archive") == [
        {
            "eventName": ["REMOVE"],
            **build_stream_image("OldImage", ["Message", "Reading"], _ttl_expired=mark),
        },
        build_heartbeat_image(["Message", "Reading"]),
    ]


def test_a_new_entity_changes_filters_and_nothing_else(dev: Synthesis, tmp_path: Path) -> None:
    added = Ledger({**LEDGER.entities, "Vote": (entity("Vote", aggregates=(COUNT,)),)})
    after = synthesise("dev", tmp_path, ledger=added)
    types = ["Download", "Reading", "Song", "Vote"]
    assert after.filters("project") == [
        build_stream_image("NewImage", types),
        build_stream_image("OldImage", types),
        build_heartbeat_image(types),
    ]

    assert _but_for_filters(after) == _but_for_filters(dev)


def _but_for_filters(stage: Synthesis) -> dict[str, Any]:
    resources: dict[str, Any] = deepcopy(stage.template["Resources"])
    for each in resources.values():
        each["Properties"].pop("FilterCriteria", None)
        each["Properties"].pop("Ledger", None)  # of a release
    return resources


def test_a_plan_that_declares_nothing_still_gives_valid_mappings(tmp_path: Path) -> None:
    empty = synthesise("local", tmp_path, ledger=Ledger({}))
    # Lambda takes no empty list; no entity has an empty name.
    assert empty.filters("project") == [
        build_stream_image("NewImage", [""]),
        build_stream_image("OldImage", [""]),
        build_heartbeat_image([""]),
    ]
    pattern, heartbeats = empty.filters("archive")
    assert heartbeats == build_heartbeat_image([""])
    assert pattern["dynamodb"]["OldImage"]["type"] == {"S": [""]}


def test_the_committed_plan_synthesises(tmp_path: Path) -> None:
    ledger = Ledger.load()
    stage = synthesise("local", tmp_path, ledger=ledger)
    expected = list(ledger.derived_types) or [""]
    assert stage.filters("project")[0] == build_stream_image("NewImage", expected)


def test_the_fixture_would_notice_a_forgotten_generation() -> None:
    old, new = LEDGER.entities["Reading"]
    assert old.plan.searches == (SEARCH,)
    assert not new.plan.has_derived_state
