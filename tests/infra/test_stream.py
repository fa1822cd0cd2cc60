"""The two consumers: their mappings, and the filters that follow from the plan."""

from copy import deepcopy
from typing import Any

import pytest

from daicho.plan import Ledger
from daicho.project import FUNCTIONS
from tests.infra.synthesis import COUNT, LEDGER, Synthesis, entity, list_steps, synthesise

CONSUMERS = ("project", "archive")


def build_stream_image(which: str, types: list[str], **more: Any) -> dict[str, Any]:
    return {"dynamodb": {which: {"type": {"S": types}, **more}}}


def build_heartbeat_image(types: list[str]) -> dict[str, Any]:
    return build_stream_image("NewImage", ["~heartbeat"], heartbeat={"S": types})


def test_the_api_is_deployed_after_the_consumers_and_their_filters(any_stage: Synthesis) -> None:
    release = list_steps(any_stage)
    assert release["open"] in any_stage.function("api")["DependsOn"]
    before = set(any_stage.template["Resources"][release["open"]]["DependsOn"])
    assert set(any_stage.resources("Lambda::EventSourceMapping")) <= before
    assert {any_stage.function_id(name) for name in CONSUMERS} <= before
    assert release["check"] in before


def test_no_function_is_updated_before_the_ledger_is_checked(any_stage: Synthesis) -> None:
    check = list_steps(any_stage)["check"]
    names = {*FUNCTIONS} - {"release", "tokens", "publish", "subscribe"}
    assert len(names) == 10
    for name in names:
        assert check in any_stage.function(name)["DependsOn"]


def test_a_step_of_a_release_comes_after_its_permissions(any_stage: Synthesis) -> None:
    policies = any_stage.resources("IAM::Policy")
    (policy,) = (id for id in policies if id.startswith("ReleaseRole"))
    for step in list_steps(any_stage).values():
        assert policy in any_stage.template["Resources"][step]["DependsOn"]


def test_a_release_is_repeated_for_another_ledger_or_older_code(
    dev: Synthesis, added: Synthesis, local: Synthesis, changed: Synthesis
) -> None:
    for before, after in ((dev, added), (local, changed)):
        for step in ("check", "open"):
            one, other = (
                stage.template["Resources"][list_steps(stage)[step]]["Properties"]
                for stage in (before, after)
            )
            assert one != other


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """Stage dev with one more entity, which derives something."""
    ledger = Ledger({**LEDGER.entities, "Vote": (entity("Vote", aggregates=(COUNT,)),)})
    return synthesise("dev", tmp_path_factory.mktemp("added"), ledger=ledger)


def test_a_new_entity_changes_filters_and_nothing_else(dev: Synthesis, added: Synthesis) -> None:
    types = ["Download", "Reading", "Song", "Vote"]
    assert added.filters("project") == [
        build_stream_image("NewImage", types),
        build_stream_image("OldImage", types),
        build_heartbeat_image(types),
    ]
    assert _but_for_filters(added) == _but_for_filters(dev)


def _but_for_filters(stage: Synthesis) -> dict[str, Any]:
    resources: dict[str, Any] = deepcopy(stage.template["Resources"])
    for each in resources.values():
        each["Properties"].pop("FilterCriteria", None)
        each["Properties"].pop("Ledger", None)  # of a release
    return resources
