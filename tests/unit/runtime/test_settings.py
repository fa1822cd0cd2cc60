"""The environment, parsed at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.errors import SettingsError
from daicho.runtime.bounds import UNBOUNDED
from daicho.runtime.settings import Settings

GOOD = {"TABLE_NAME": "daicho", "STAGE": "local", "DIRTY_SHARDS": "1", "EMULATED_STREAM": "true"}


def test_what_is_set_and_what_is_not() -> None:
    expected = Settings("daicho", "local", 1, emulated_stream=True, console={"stage": "local"})
    assert Settings.parse(GOOD) == expected
    assert Settings.parse({"TABLE_NAME": "t", "STAGE": "prod"}).dirty_shards == 16


def test_every_mistake_is_named_at_once() -> None:
    wrong = {"STAGE": "test", "DIRTY_SHARDS": "0", "EMULATED_STREAM": "yes"}
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


def test_a_bound_that_is_not_set_is_none() -> None:
    bounds = Settings.parse({**GOOD, "READ_UNITS": "500"}).bounds
    assert bounds == replace(UNBOUNDED, read_units=500)
