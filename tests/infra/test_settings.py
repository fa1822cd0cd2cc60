from dataclasses import replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from daicho.cdk import STAGES, DaichoStack, Settings
from daicho.cdk.settings import WARM
from daicho.errors import SettingsError
from tests.infra.synthesis import synthesise
from tests.support.repository import PROJECT


def read(**context: Any) -> Settings:
    return Settings.from_context(context.get)


def test_without_a_stage_it_is_dev() -> None:
    assert read().stage == "dev"
    assert read().account is None


def test_days_that_cloudwatch_cannot_keep_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="log_days is 15; it can be 1, 3, 5, 7, 14, 30"):
        synthesise("dev", tmp_path, log_days=15)


def test_a_stage_that_the_functions_do_not_know_is_refused(tmp_path: Path) -> None:
    settings = replace(STAGES["dev"], stage="staging")
    app = cdk.App(outdir=str(tmp_path), analytics_reporting=False)
    with pytest.raises(SettingsError, match="stage is 'staging'; the stages are local, dev, prod"):
        DaichoStack(app, project=PROJECT, settings=settings)


def test_options_come_from_the_context() -> None:
    settings = read(stage="prod", account="123456789012", region="eu-west-1", alarm_email="a@b.c")
    assert (settings.account, settings.region) == ("123456789012", "eu-west-1")
    assert settings.alarm_email == "a@b.c"
    assert settings.retain
    assert settings.warm is None
    assert read(stage="prod", warm_throughput="true").warm == WARM


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"stage": "production"}, "stage is 'production'; the stages are local, dev, prod"),
        (
            {"stage": "local", "local_layer": "/layer"},
            "stage local needs local_ledger; stage local needs api_url",
        ),
        ({"stage": "prod", "api_url": "http://x"}, "api_url is for stage local only"),
        ({"stage": "dev", "faults": "0.2"}, "faults is for stage local only"),
        (
            {"stage": "local", "local_layer": "/l", "local_ledger": "/g", "api_url": "/"}
            | {"warm_throughput": "true"},
            "warm_throughput is for stages of an account only",
        ),
        ({"faults": "many"}, "faults is 'many', not a number between 0 and 1"),
        ({"faults": "1"}, "faults is '1', not a number between 0 and 1"),
        ({"account": "123456789012"}, "account and region go together"),
    ],
)
def test_what_is_wrong_is_said_at_once(context: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(**context)
    assert str(raised.value) == message
