"""The limits of tenants as text, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.cdk import STAGES
from daicho.errors import SettingsError
from daicho.runtime.settings import Settings
from daicho.runtime.tenant_limits import Limits, TenantLimits

ENVIRON = {"TABLE_NAME": "t", "STAGE": "dev"}


def test_the_text_of_limits_is_read_again() -> None:
    limits = TenantLimits(Limits(1, 2, 3, 4), {"acme": Limits(50)})
    assert TenantLimits.parse(limits.render()) == limits
    assert limits.find("acme").requests == 50
    assert limits.find("other").requests == 1
    settings = Settings.parse({**ENVIRON, "TENANT_LIMITS": limits.render()})
    assert settings.tenant_limits == limits
    assert Settings.parse(ENVIRON).tenant_limits is None


@pytest.mark.parametrize("text", ["x", "[]", "{}", '{"*":[0]}', '{"*":[1,2,3,4,5,6]}', '{"*":1}'])
def test_another_text_is_a_wrong_setting(text: str) -> None:
    with pytest.raises(SettingsError, match="TENANT_LIMITS: "):
        Settings.parse({**ENVIRON, "TENANT_LIMITS": text})


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        (TenantLimits(Limits(0)), "requests is 0, not a number from 1"),
        (TenantLimits(overrides={"a": Limits(burst_seconds=0)}), "of the tenant a"),
        (TenantLimits(overrides={"A b": Limits()}), "'A b' is no name of a tenant"),
        (TenantLimits(overrides={f"t{n}": Limits() for n in range(100)}), "are too many"),
    ],
)
def test_limits_that_make_no_sense_are_named(limits: TenantLimits, problem: str) -> None:
    assert problem in "; ".join(limits.list_problems())


def test_by_default_a_tenant_may_send_half_of_what_a_stage_may() -> None:
    found = {name: stage.all_limits.default.requests for name, stage in STAGES.items()}
    assert found == {"local": 500, "dev": 250, "trial": 250, "prod": 5_000}


def test_a_stage_has_other_limits_for_some_tenants_and_for_all_others() -> None:
    stage = replace(STAGES["dev"], tenant_limits={"acme": Limits(50), "*": Limits(20)})
    assert stage.all_limits == TenantLimits(Limits(20), {"acme": Limits(50)})
    with pytest.raises(SettingsError, match=r"requests is 0, .* of the tenant acme"):
        replace(stage, tenant_limits={"acme": Limits(0)}).check()
