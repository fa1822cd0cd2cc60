"""The ledger: plans by generation, and what holds for an entity in any of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daicho.plan import Ledger, NewerGenerationError, UnknownEntityError
from daicho.plan.lockfile import append_generations
from tests.support.sample_plans import SONG


def test_images_of_other_generations() -> None:
    ledger = append_generations([SONG], Ledger())
    with pytest.raises(NewerGenerationError):
        ledger.find_plan("Song", 2)
    with pytest.raises(UnknownEntityError):
        ledger.find_plan("Song", 0)
    with pytest.raises(UnknownEntityError, match="'Album'"):
        ledger.find_plan("Album", 1)


def test_types_of_old_generations_still_wake_the_projector() -> None:
    ledger = append_generations([replace(SONG, searches=())], append_generations([SONG], Ledger()))
    assert ledger.derived_types == ("Song",)
