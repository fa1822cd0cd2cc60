"""Copies of the stores in another Region: off, unless a vault is named (ADR 0190)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daicho.cdk.settings import Settings
from daicho.errors import SettingsError
from tests.infra.synthesis import Synthesis, synthesise

VAULT = "arn:aws:backup:eu-central-1:123456789012:backup-vault:daicho"


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    return synthesise("prod", tmp_path_factory.mktemp("copied"), backup_vault=VAULT)


def test_table_archive_and_objects_are_copied_each_day(copied: Synthesis) -> None:
    (rule,) = copied.only("Backup::BackupPlan")["Properties"]["BackupPlan"]["BackupPlanRule"]
    (copy,) = rule["CopyActions"]
    assert copy == {"DestinationBackupVaultArn": VAULT, "Lifecycle": {"DeleteAfterDays": 7}}
    assert rule["ScheduleExpression"] == "cron(0 3 * * ? *)"
    selected = copied.only("Backup::BackupSelection")["Properties"]["BackupSelection"]["Resources"]
    (table,) = copied.resources("DynamoDB::GlobalTable")
    assert [each["Fn::GetAtt"][0] for each in selected] == [
        table,
        copied.bucket_id("Archive"),
        copied.bucket_id("Objects"),
    ]


def test_nothing_is_backed_up_without_a_vault(any_stage: Synthesis) -> None:
    kinds = {each["Type"] for each in any_stage.template["Resources"].values()}
    assert not [kind for kind in kinds if kind.startswith("AWS::Backup")]


def test_only_the_roles_policies_are_acknowledged(copied: Synthesis, prod: Synthesis) -> None:
    added = copied.acknowledged - prod.acknowledged
    assert {rule.partition("[")[0] for rule, _ in added} == {"IAM4"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backup_vault": "daicho"}, "not the ARN of a backup vault"),
        (
            {"backup_vault": VAULT, "account": "123456789012", "region": "eu-central-1"},
            "backup_vault is in eu-central-1, as the stage is",
        ),
    ],
)
def test_a_wrong_vault_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings.from_context({"stage": "dev", **options}.get)
    with pytest.raises(SettingsError, match="for stages of an account only"):
        synthesise("local", Path("unused"), backup_vault=VAULT)
