"""The state machine of jobs: its redrives, its role, and the times that it waits.

The snapshots have its definition.
"""

import json
from typing import Any

from daicho.cdk import STAGES
from daicho.cdk.functions import grants
from daicho.cdk.functions.jobs import REDRIVES, build_definition
from daicho.cdk.settings import REBUILD_UNITS
from daicho.jobs.state_machine import REDRIVE_PREFIX
from daicho.runtime.settings import UPLOAD_SECONDS
from daicho.stream.older_images import NOTED_S
from tests.infra.synthesis import Synthesis
from tests.infra.test_permissions import allowed, text

ASL: dict[str, Any] = build_definition("arn:function", "arn:redrive")


def test_the_steps_of_a_redrive_call_its_own_function() -> None:
    assert f"{REDRIVE_PREFIX}*" == REDRIVES
    (rule,) = ASL["States"]["IsRedrive"]["Choices"]
    assert rule["Next"] == "RedriveStep"
    assert rule["And"] == [
        {"Variable": "$.tenant", "StringEquals": ""},
        {"Variable": "$.job", "StringMatches": REDRIVES},
    ]
    for name in ("Step", "IsDone", "Settle", "GiveUp"):
        states = json.dumps(ASL["States"][name])
        for other in ("Step", "IsDone", "Settle", "GiveUp"):
            states = states.replace(f'"{other}"', f'"Redrive{other}"')
        own = states.replace("arn:function", "arn:redrive")
        assert json.loads(own) == ASL["States"][f"Redrive{name}"]


def test_the_machine_may_call_its_function_and_write_its_log(any_stage: Synthesis) -> None:
    machine = any_stage.only("StepFunctions::StateMachine")["Properties"]
    role = machine["RoleArn"]["Fn::GetAtt"][0]
    functions = [
        text({"Fn::GetAtt": [any_stage.function_id(name), "Arn"]}) for name in ("jobs", "redrive")
    ]
    assert allowed(any_stage, role) == {
        **{function: {"lambda:InvokeFunction"} for function in functions},
        "*": set(grants.MACHINE),
    }
    trust = any_stage.resources("IAM::Role")[role]["Properties"]["AssumeRolePolicyDocument"]
    assert trust["Statement"][0]["Principal"] == {"Service": "states.amazonaws.com"}
    written = json.dumps(machine["DefinitionString"])
    assert "states:::lambda:invoke" in written
    assert machine["LoggingConfiguration"]["Level"] == "ALL"


def test_whatever_may_still_write_has_ended_when_a_pass_is_the_proof(
    dev: Synthesis, prod: Synthesis
) -> None:
    for stage in (dev, prod):
        longest = max(
            each["Properties"]["Timeout"] for each in stage.resources("Lambda::Function").values()
        )
        # A signed upload is good for a while, too.
        longest = max(longest, UPLOAD_SECONDS)
        assert int(stage.environment("jobs")["SETTLE_SECONDS"]) > longest


def test_a_rebuild_waits_longer_before_a_pass_than_a_noted_generation_is_not_noted_again() -> None:
    assert min(settings.settle_seconds for settings in STAGES.values()) > NOTED_S


def test_a_deletion_waits_for_the_upload_urls_that_the_api_signs(any_stage: Synthesis) -> None:
    signed = any_stage.environment("api")["UPLOAD_SECONDS"]
    assert any_stage.environment("jobs")["UPLOAD_SECONDS"] == signed
    assert 1 <= int(signed) <= UPLOAD_SECONDS


def test_the_sweep_starts_rebuilds_at_the_rate_of_the_stage(dev: Synthesis) -> None:
    assert dev.environment("sweep")["REBUILD_UNITS"] == str(REBUILD_UNITS)
