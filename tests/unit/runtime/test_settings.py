"""The environment, parsed at once."""

from __future__ import annotations

import pytest

from daicho.errors import SettingsError
from daicho.runtime.settings import Settings

GOOD = {"TABLE_NAME": "daicho", "STAGE": "local", "DIRTY_SHARDS": "1", "EMULATED_STREAM": "true"}


def test_what_is_set_and_what_is_not() -> None:
    expected = Settings("daicho", "local", 1, emulated_stream=True, console={"stage": "local"})
    assert Settings.parse(GOOD) == expected
    assert Settings.parse({"TABLE_NAME": "t", "STAGE": "prod"}).dirty_shards == 16


def test_every_mistake_is_named_at_once() -> None:
    wrong = {"STAGE": "test", "DIRTY_SHARDS": "0", "EMULATED_STREAM": "yes", "FAULTS": "2"}
    with pytest.raises(SettingsError) as error:
        Settings.parse(wrong, "ARCHIVE_BUCKET")
    for name in ("TABLE_NAME", "ARCHIVE_BUCKET", *wrong):
        assert name in str(error.value)


@pytest.mark.parametrize("shards", ["-1", "1.5", "²", "257", "many"])
def test_a_number_of_shards_is_a_number(shards: str) -> None:
    with pytest.raises(SettingsError, match="DIRTY_SHARDS"):
        Settings.parse({**GOOD, "DIRTY_SHARDS": shards})


def test_no_real_stage_has_an_emulated_stream() -> None:
    with pytest.raises(SettingsError, match="EMULATED_STREAM"):
        Settings.parse({**GOOD, "STAGE": "prod"})


@pytest.mark.parametrize("share", ["0", "1", "-0.5", "nan", "some"])
def test_a_share_of_faults_lies_between_0_and_1(share: str) -> None:
    with pytest.raises(SettingsError, match="FAULTS is"):
        Settings.parse({**GOOD, "FAULTS": share})


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_nothing_fails_on_purpose_on_aws(stage: str) -> None:
    assert Settings.parse({**GOOD, "FAULTS": "0.2"}).faults == 0.2
    on_aws = {"TABLE_NAME": "daicho", "STAGE": stage, "FAULTS": "0.2"}
    with pytest.raises(SettingsError, match="FAULTS is for STAGE local only"):
        Settings.parse(on_aws)
