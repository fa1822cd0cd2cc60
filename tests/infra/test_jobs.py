"""The state machine of jobs: what it does of each answer, and what of a failure."""

import json
from typing import Any

from daicho.cdk import STAGES
from daicho.cdk.functions import grants
from daicho.cdk.functions.jobs import REDRIVES, build_definition
from daicho.jobs.state_machine import REDRIVE_PREFIX
from daicho.runtime.settings import UPLOAD_SECONDS
from daicho.stream.older_images import NOTED_S
from tests.infra.synthesis import Synthesis
from tests.infra.test_permissions import allowed, text

ASL: dict[str, Any] = build_definition("arn:function", "arn:redrive")


def after(said: dict[str, Any]) -> str:
    """Where the machine goes after a step has said that."""
    for rule in ASL["States"]["IsDone"]["Choices"]:
        value = said[rule["Variable"].removeprefix("$.said.")]
        holds = value is rule["BooleanEquals"] if "BooleanEquals" in rule else value > 0
        if holds:
            found: str = rule["Next"]
            return found
    default: str = ASL["States"]["IsDone"]["Default"]
    return default


def test_it_goes_on_waits_or_ends_as_a_step_says() -> None:
    assert ASL["StartAt"] == "IsRedrive"
    assert ASL["States"]["IsRedrive"]["Default"] == "Step"
    assert ASL["States"]["Step"]["Next"] == "IsDone"
    assert after({"done": False, "wait": 0}) == "Step"
    assert after({"done": False, "wait": 900}) == "Settle"
    assert after({"done": True, "wait": 0}) == "Done"
    assert ASL["States"]["Settle"]["SecondsPath"] == "$.said.wait"
    assert ASL["States"]["Settle"]["Next"] == "Step"


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


def test_every_state_leads_somewhere_and_to_an_end() -> None:
    states = ASL["States"]
    for name, state in states.items():
        rules = [*state.get("Choices", ()), *state.get("Catch", ())]
        nexts = {each["Next"] for each in rules}
        nexts |= {state[key] for key in ("Next", "Default") if key in state}
        assert nexts <= set(states), name
        assert nexts or state["Type"] in {"Fail", "Succeed"}, name


def test_a_failure_is_repeated_for_hours_and_written_down_then() -> None:
    step, give_up = ASL["States"]["Step"], ASL["States"]["GiveUp"]
    (retry,) = step["Retry"]
    assert retry["ErrorEquals"] == ["States.ALL"]
    assert retry["MaxAttempts"] * retry["MaxDelaySeconds"] > 6 * 3600
    assert step["Catch"][0]["Next"] == "GiveUp"
    assert give_up["Parameters"]["Payload"]["failed.$"] == "$.failed"
    assert give_up["Next"] == "Failed"


def test_a_step_is_told_whose_job_and_its_answer_replaces_nothing_of_that() -> None:
    for name in ("Step", "GiveUp", "RedriveStep", "RedriveGiveUp"):
        payload = ASL["States"][name]["Parameters"]["Payload"]
        assert {"tenant.$", "job.$"} <= set(payload)
    assert ASL["States"]["Step"]["ResultPath"] == "$.said"


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


def test_a_failed_job_raises_an_alarm(any_stage: Synthesis) -> None:
    (alarm,) = (
        each["Properties"]
        for each in any_stage.resources("CloudWatch::Alarm").values()
        if each["Properties"]["MetricName"] == "ExecutionsFailed"
    )
    (machine,) = any_stage.resources("StepFunctions::StateMachine")
    arn = {"Fn::GetAtt": [machine, "Arn"]}
    assert alarm["Dimensions"] == [{"Name": "StateMachineArn", "Value": arn}]
    for function in ("api", "sweep"):
        assert any_stage.environment(function)["JOB_MACHINE"] == arn


def test_the_sweep_starts_rebuilds_at_the_rate_of_the_stage(dev: Synthesis, own: Synthesis) -> None:
    assert dev.environment("sweep")["REBUILD_UNITS"] == str(STAGES["dev"].rebuild_units)
    assert "REBUILD_UNITS" not in own.environment("sweep")
