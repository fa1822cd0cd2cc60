"""A stage whose own table is lost: a restored one takes its place (ADR 0189)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daicho.cdk.settings import STAGES, Settings
from daicho.errors import SettingsError
from daicho_cli.plan.template import diff_templates, has_restored_table, judge_resources
from tests.infra.synthesis import Synthesis, settings_of, synthesise
from tests.support.repository import PROGRAMS

TABLE = "arn:aws:dynamodb:eu-west-1:123456789012:table/restored"
STREAM = f"{TABLE}/stream/2027-01-01T00:00:00.000"


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    return synthesise("prod", tmp_path_factory.mktemp("restored"), table_stream=STREAM)


def test_everything_uses_the_restored_table_and_its_stream(
    restored: Synthesis, prod: Synthesis
) -> None:
    assert not restored.resources("DynamoDB::GlobalTable")
    for name in ("api", "project", "rollup", "jobs", "release", "ops"):
        assert restored.environment(name)["TABLE_NAME"] == "restored"
    for name in ("project", "archive"):
        assert restored.mapping(name)["EventSourceArn"] == STREAM
    template = json.dumps(restored.template)
    assert f"{TABLE}/index/GSI1" in template
    (id,) = prod.resources("DynamoDB::GlobalTable")
    assert f'"{id}"' not in template
    assert restored.template["Outputs"]["TableName"]["Value"] == "restored"


def test_the_lost_table_of_production_is_not_deleted(prod: Synthesis) -> None:
    assert prod.only("DynamoDB::GlobalTable")["DeletionPolicy"] == "Retain"


def test_the_guard_of_deployments_knows_that_the_lost_table_leaves_the_stack(
    restored: Synthesis, prod: Synthesis
) -> None:
    changes = diff_templates(prod.template, restored.template, PROGRAMS)
    assert has_restored_table(restored.template)
    assert not has_restored_table(prod.template)
    check = judge_resources(changes, has_restored_table=True)
    assert check.refusals == ()
    (notice,) = check.notices
    assert notice.endswith(
        "is removed from the template: it remains in the account outside the stack"
    )
    assert judge_resources(changes).refusals == (notice,)


def test_only_a_restored_table_has_a_lineage(restored: Synthesis, prod: Synthesis) -> None:
    assert "TABLE_LINEAGE" not in prod.environment("api")
    lineage = restored.environment("api")["TABLE_LINEAGE"]
    assert (len(lineage), lineage.isalnum()) == (8, True)
    again = settings_of("prod", table_stream=STREAM.replace("2027", "2028"))
    assert again.lineage != lineage


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (TABLE, "not the ARN of a table's stream"),
        ("restored", "not the ARN of a table's stream"),
        (STREAM.replace("eu-west-1", "eu-west-2"), "table_stream is in eu-west-2"),
    ],
)
def test_a_wrong_stream_is_refused(stream: str, message: str) -> None:
    options = {
        **{"stage": "dev", "table_stream": stream},
        **{"account": "123456789012", "region": "eu-west-1"},
    }
    with pytest.raises(SettingsError, match=message):
        Settings.from_context(options.get)
    assert STAGES["dev"].table_stream is None


def test_the_template_of_no_other_stage_changes(tmp_path: Path, dev: Synthesis) -> None:
    assert synthesise("dev", tmp_path, table_stream=None).template == dev.template
