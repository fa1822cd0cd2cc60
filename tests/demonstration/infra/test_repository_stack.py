"""The stack of this repository: the demonstration does not reach production by accident."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from daicho.cdk import STAGES
from daicho.cdk.context_options import NO_TOPIC
from daicho.errors import SettingsError
from infra.stack import build_stack
from tests.support.repository import PROJECT


def build(folder: Path, stage: str, **more: Any) -> None:
    app = cdk.App(outdir=str(folder), context=more, analytics_reporting=False)
    settings = replace(STAGES[stage], alarm_topic=NO_TOPIC)
    build_stack(app, project=PROJECT, settings=settings)


def test_production_without_the_flag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"\(.*carts.*polls.*\) would be deployed"):
        build(tmp_path, "prod")


def test_production_with_the_flag_is_built(tmp_path: Path) -> None:
    build(tmp_path, "prod", demonstration="true")
